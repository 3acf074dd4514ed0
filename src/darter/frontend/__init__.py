"""Python AST to typed IR: a staged interpreter that folds what is static and emits what is not."""
