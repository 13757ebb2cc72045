"""A package of another author that brings a format with a body of its own, a dialect and a codec."""
