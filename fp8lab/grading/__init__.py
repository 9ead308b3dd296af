"""The instructor's door: submitted notebooks -> marks, feedback files, tables.

intake     a folder -> submissions            notebook, harvest, pycode   a file -> the exercise cells in it
assemble   our notebook around their cells    run, plugin, kernel         nbval executes it
launch     what a kernel may see and use      inside, seal, given, view   the half that runs beside the learner's code
seeds, parcel   what a kernel is given: a seed of its own, or inputs without the way they were made
forking, join, template, pytests   processes that are copies   ready, warm, sandboxed, provisioner   who asks for them
watch      what a kernel uses                 places                      temporary folders, also after kill -9
judge      evidence -> marks                  batch, cache, report        a class -> tables and feedback
overview, report_page, pictures   report.html   fingerprint, similar, review   what deserves a second look
lms        what learning platforms import     remarks                     what is said of files, in Chinese
"""

EVIDENCE_MIME = "application/vnd.fp8lab.evidence+json"  # of what a driver cell displays
MARKS_FOLDER = ".fp8lab-grade"  # in the folder that marks are written to: what has been graded
NO_TIME = "no time left"  # status of a cell when all cells of the learner together have used up their time
PREPARE = "prepare"  # name of the first cell of an assembled notebook
SETTINGS = "FP8LAB_GRADING_RUN"  # environment variable: the file that configures plugin.py
PLUGINS = ("fp8lab.grading.lean", "nbval.plugin", "fp8lab.grading.plugin")  # all that pytest loads besides its own
NBFORMAT = 4, 4  # of the notebooks that are run: the last one without cell ids, which ours would have to be made up for
