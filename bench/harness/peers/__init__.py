"""How each server is set up: what an operator would write, on one core with one worker.

Must never be tuned for or against; a setting that is not the default says why.
"""
