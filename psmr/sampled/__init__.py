"""Code that runs at samples: a manufacturer's compiled controller."""
