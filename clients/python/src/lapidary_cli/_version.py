"""The version of this package, which is that of its binary."""

VERSION = "0.1.0"
