"""Operations specialise and compile: what the compiler makes of a variant, with or without a GPU."""
