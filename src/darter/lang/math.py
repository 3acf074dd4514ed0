"""Mathematics on device values; on f16 and bf16 the functions compute in f32 and round once."""

from __future__ import annotations

from darter.lang.intrinsic import Intrinsic

exp = Intrinsic("exp", "dt.exp(x)")
exp2 = Intrinsic("exp2", "dt.exp2(x)")
log = Intrinsic("log", "dt.log(x)")
log2 = Intrinsic("log2", "dt.log2(x)")
sqrt = Intrinsic("sqrt", "dt.sqrt(x)")
rsqrt = Intrinsic("rsqrt", "dt.rsqrt(x)")
tanh = Intrinsic("tanh", "dt.tanh(x)")
erf = Intrinsic("erf", "dt.erf(x)")
sin = Intrinsic("sin", "dt.sin(x)")
cos = Intrinsic("cos", "dt.cos(x)")
pow = Intrinsic("pow", "dt.pow(x, y)")
floor = Intrinsic("floor", "dt.floor(x)")
ceil = Intrinsic("ceil", "dt.ceil(x)")
trunc = Intrinsic("trunc", "dt.trunc(x)")
rint = Intrinsic("rint", "dt.rint(x): half to even")
fma = Intrinsic("fma", "dt.fma(a, b, c): a*b + c, rounded once")
abs = Intrinsic("abs", "dt.abs(x)")
min = Intrinsic("min", "dt.min(a, b, ...): NaN propagates")
max = Intrinsic("max", "dt.max(a, b, ...): NaN propagates")
where = Intrinsic("where", "dt.where(condition, a, b): both sides are evaluated")
bitcast = Intrinsic("bitcast", "dt.bitcast(value, dtype): the same bits; both types have one width")
