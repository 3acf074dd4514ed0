"""What calling something means: functions are interpreted in place, builtins and intrinsics emit."""
