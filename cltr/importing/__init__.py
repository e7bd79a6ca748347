"""[1] Judged data from text files, streaming: find the files, parse their lines, pile them up.

``layouts`` knows which file of a folder is which split, ``lines`` reads bytes, ``svmlight`` parses
them (``kernel`` and ``sparse`` are compiled), ``spool`` keeps rows on disk, ``pile`` joins all.
"""
