"""What compiled code depends on outside its arguments: recorded, fingerprinted, resolved again, guarded.

The front end reads through ``recorder.Recorder``: the rules of Python in ``attributes``, ``containers`` and
``contents``, over ``reads``, which notes each step.  Its ``record.CaptureRecord`` is stored as the manifest;
``resolve.resolve`` compares a record with the live program, ``baseline.install`` arms the guards of a call state.
"""
