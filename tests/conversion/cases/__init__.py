"""Small models with one operator or pattern each, and what a converter must do with them."""
