"""What each parameter is, and what each argument is known to be: plan, contracts, binder, descriptors, the full key."""
