"""What compiled code depends on outside its arguments: recorded, fingerprinted, resolved again, guarded."""
