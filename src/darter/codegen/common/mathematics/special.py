"""tanh and erf: a polynomial near 0, and 1 minus something small beyond; erfc in Float64."""

from __future__ import annotations

from darter.codegen.common.lanes import Lanes
from darter.codegen.common.mathematics.core import clamp, magnitude, polynomial, with_sign
from darter.codegen.common.mathematics.exponential import exp, expm1

_TANH_NEAR = {"float": 0.625, "double": 0.5}
_TANH_END = {"float": 10.0, "double": 20.0}
# (tanh(x)/x - 1)/x² over x²: 4.3e-8 and 4.4e-17.
_TANH = {
    "float": (-0.006096714166, 0.020997179, -0.05385090958, 0.1333276974, -0.3333332894),
    "double": (
        5.9469565897747691e-5, -0.00022107222975864634, 0.00058496537290226446, -0.0014549593843804661,
        0.0035920334653723928, -0.0088632292700678434, 0.021869488297234514, -0.053968253963610086,
        0.13333333333329824, -0.33333333333333329,
    ),
}  # fmt: skip
_ERF_NEAR = {"float": 1.0, "double": 0.85}
_ERF_END = {"float": 4.0, "double": 6.0}
# erf(x)/x - 1 over x²: 1.2e-9 and 1.7e-19.
_ERF = {
    "float": (
        7.875875063e-5, -0.0008016864287, 0.005189087423, -0.02685421201, 0.1128359472, -0.3761262667, 0.128379166,
    ),
    "double": (
        -8.8372073428354962e-10, 1.4189584294135369e-8, -1.6300495998065118e-7, 1.6457676496214065e-6,
        -1.4925450090912942e-5, 0.00012055326932054654, -0.0008548326902886471, 0.0052239776239167891,
        -0.02686617064501726, 0.11283791670954685, -0.37612638903183746, 0.12837916709551257,
    ),
}  # fmt: skip
# log(erfc(x)) over x - 1 up to x = 4: 1.7e-8.
_ERFC_SINGLE = (
    1.637151415e-6, -3.296083137e-5, 0.0003202395664, -0.002054300957, 0.01007780803, -0.04157574036, -0.8431047416,
    -2.6389677, -1.849605507,
)  # fmt: skip
# log(erfc(x)) over x - 0.85 up to x = 2.5, and over x - 2.5 up to x = 6.
_ERFC_DOUBLE_LOW = (
    3.2594823460121899e-12, -7.9775508394555243e-11, 9.2301264245864028e-10, -6.7209896029917849e-9,
    3.4261101455339105e-8, -1.2600142790701131e-7, 3.1223933984093777e-7, -2.7611569843318268e-7,
    -1.9208761483057114e-6, 1.2609197017959211e-5, -4.2131889599156838e-5, 6.7422767606202895e-5,
    0.00018971014237952082, -0.0021733029609878364, 0.011593188284176059, -0.04804185042828651,
    -0.82298169055434304, -2.3889812802983324, -1.4725847948879962,
)  # fmt: skip
_ERFC_DOUBLE_HIGH = (
    0.0, 0.0, 0.0, 0.0,
    -9.5176720935222388e-13, 2.3666789851428936e-11, -2.2569047502260434e-10, 4.6030830489950942e-10,
    1.3460418784091883e-8, -2.0593384628619842e-7, 1.84154780514687e-6, -1.2834163168141214e-5, 7.7092030701098827e-5,
    -0.00042096598623205019, 0.0021654889795337557, -0.010858075398445207, -0.94389373321439681, -5.3526807510007545,
    -7.8068152727271529,
)  # fmt: skip

# (1 + 2a)·e^(a²)·erfc(a) over (a - 4)/(a + 4), a from 1/2 to 28: 4.5e-17.
_ERFCX = (
    1.5219277812612269e-9, 2.4094890444285069e-9, -1.4704421774400365e-8, -1.9736872590355543e-8, 1.105584872255078e-7,
    7.7146262204328774e-8, -8.255322259262831e-7, 2.9184665855580792e-7, 5.7096194074607688e-6, -1.1221081791490601e-5,
    -2.4399115655582332e-5, 0.00015062138417805605, -0.0001992567302266955, -0.00075777323137109447,
    0.0050319699849119387, -0.016197734064788702, 0.037167515536739693, -0.066330365811716739, 0.093732834998390913,
    -0.10103906603632293, 0.068097054254691676, 0.015379652102620015, -0.13962111684056251, 1.2329951186255525,
)  # fmt: skip


def tanh(lanes: Lanes, element: str, x: str) -> str:
    size = magnitude(lanes, element, x)
    square = lanes.op("fmul", element, x, x)
    cube = lanes.op("fmul", element, square, x)
    near = lanes.fma(element, cube, polynomial(lanes, element, square, _TANH[element]), x)
    held = clamp(lanes, element, size, 0.0, _TANH_END[element])
    above = expm1(lanes, element, lanes.op("fadd", element, held, held))
    far = lanes.op("fdiv", element, above, lanes.op("fadd", element, above, lanes.real(element, 2.0)))
    is_near = lanes.compare("olt", element, size, lanes.real(element, _TANH_NEAR[element]))
    return with_sign(lanes, element, lanes.select(element, is_near, near, far), x)


def erf(lanes: Lanes, element: str, x: str) -> str:
    size = magnitude(lanes, element, x)
    more = polynomial(lanes, element, lanes.op("fmul", element, x, x), _ERF[element])
    near = lanes.fma(element, x, more, x)
    held = clamp(lanes, element, size, 0.0, _ERF_END[element])
    log_rest = _log_erfc_single(lanes, held) if element == "float" else _log_erfc_double(lanes, held)
    far = lanes.op("fsub", element, lanes.real(element, 1.0), exp(lanes, element, log_rest))
    is_near = lanes.compare("olt", element, size, lanes.real(element, _ERF_NEAR[element]))
    return lanes.select(element, is_near, near, with_sign(lanes, element, far, x))


def erfc(lanes: Lanes, x: str) -> str:
    """Return 1 - erf(x): up to 1/2 just so, beyond as e^(-x²) of an x² in two parts times a quotient."""
    d = "double"
    size = magnitude(lanes, d, x)
    a = clamp(lanes, d, size, 0.5, 28.0)
    four, one = lanes.real(d, 4.0), lanes.real(d, 1.0)
    t = lanes.op("fdiv", d, lanes.op("fsub", d, a, four), lanes.op("fadd", d, a, four))
    factor = polynomial(lanes, d, t, _ERFCX)
    factor = lanes.op("fdiv", d, factor, lanes.fma(d, a, lanes.real(d, 2.0), one))
    square = lanes.op("fmul", d, a, a)
    rest = lanes.fma(d, a, a, lanes.negate(d, square))
    # e^-(square + rest) = e^-square·(1 - rest), the small part on the factor: a denormal result rounds once.
    factor = lanes.fma(d, factor, lanes.negate(d, rest), factor)
    far = lanes.op("fmul", d, exp(lanes, d, lanes.negate(d, square)), factor)
    negative = lanes.compare("olt", d, x, lanes.real(d, 0.0))
    far = lanes.select(d, negative, lanes.op("fsub", d, lanes.real(d, 2.0), far), far)
    near = lanes.op("fsub", d, one, erf(lanes, d, x))
    return lanes.select(d, lanes.compare("olt", d, size, lanes.real(d, 0.5)), near, _keep_nan(lanes, x, far))


def _keep_nan(lanes: Lanes, x: str, result: str) -> str:
    return lanes.select("double", lanes.compare("uno", "double", x, x), x, result)


def _log_erfc_single(lanes: Lanes, x: str) -> str:
    moved = lanes.op("fsub", "float", x, lanes.real("float", 1.0))
    return polynomial(lanes, "float", moved, _ERFC_SINGLE)


def _log_erfc_double(lanes: Lanes, x: str) -> str:
    low = lanes.compare("olt", "double", x, lanes.real("double", 2.5))

    def pick(a: float, b: float) -> str:
        return lanes.select("double", low, lanes.real("double", a), lanes.real("double", b))

    moved = lanes.op("fsub", "double", x, pick(0.85, 2.5))
    pairs = zip(_ERFC_DOUBLE_LOW, _ERFC_DOUBLE_HIGH, strict=True)
    result = lanes.real("double", 0.0)
    for a, b in pairs:
        result = lanes.fma("double", result, moved, pick(a, b))
    return result
