"""Models' own chat templates as judges: a format must read back what a template renders.

A template is somebody else's program. It runs in a sandbox, in a process of its own with limited time, memory and
output (`sandbox`, `rendering`). `answers` finds the model's part in the output, `check` lets every format read it.
"""
