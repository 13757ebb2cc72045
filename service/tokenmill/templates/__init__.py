"""Models' own chat templates as judges: what a template renders, a format must read back.

A template is a program of somebody else. It runs in a sandbox, in a process of its own that may use only so much time,
memory and output (`sandbox`, `rendering`). `answers` finds the model's part in what comes out, `check` lets every
format read it.
"""
