"""What compiled code depends on outside its arguments: recorded while it is traced, fingerprinted, resolved again, guarded."""
