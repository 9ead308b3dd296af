"""The words of report.html, in both languages."""

from __future__ import annotations

from fp8lab.course.text import Text

W = {
    "title": Text("Class report", "班级成绩报告"),
    "made": Text("{date} · fp8lab {version}", "{date} · fp8lab {version}"),
    "learners": Text("learners", "学员"),
    "lessons": Text("lessons", "课程"),
    "median": Text("median of the points", "得分率中位数"),
    "passed_share": Text("exercises passed", "练习通过率"),
    "full": Text("with full points", "满分学员"),
    "to_review": Text("flags for review", "待复核项"),
    "unread": Text("files not read", "无法读取的文件"),
    "late_tile": Text("late hand-ins", "迟交的作业"),
    "late_tile_one": Text("late hand-in", "迟交的作业"),
    "learners_one": Text("learner", "学员"),
    "lessons_one": Text("lesson", "课程"),
    "to_review_one": Text("flag for review", "待复核项"),
    "unread_one": Text("file not read", "无法读取的文件"),
    "empty": Text("Nobody has handed in anything, and nobody is expected.", "没有任何提交，也没有名单。"),
    "marks": Text("Points", "得分"),
    "marks_about": Text(
        "Learners by the share of the points that they got. A lesson's picture leaves out what was not handed in or "
        "could not be read.",
        "按得分率统计的人数。每课的图不含未提交或无法读取的作业。",
    ),
    "all_lessons": Text("All lessons", "全部课程"),
    "median_of": Text("median {value} %, {count} of {total} graded", "中位数 {value} %，{total} 人中 {count} 人已评分"),
    "median_all": Text("median {value} %, {count} learners", "中位数 {value} %，共 {count} 人"),
    "median_all_one": Text("{value} %, {count} learner", "{value} %，共 {count} 人"),
    "exercises": Text("Exercises, hardest first", "练习（由难到易）"),
    "exercises_about": Text(
        "Shares of all learners. The numbers under a bar are learners.", "以全部学员为 100 %。条形下方是人数。"
    ),
    "exercise": Text("exercise", "练习"),
    "how_it_went": Text("how it went", "完成情况"),
    "passed": Text("passed", "通过"),
    "misconceptions": Text("Mistakes with a name", "能识别的典型错误"),
    "misconceptions_about": Text(
        "Answers that behave exactly, or in all that is wrong, like a mistake that the exercise knows.",
        "答案的行为与练习记录中的某个典型错误完全一致，或者错误之处与它一致。",
    ),
    "mistake": Text("mistake", "错误"),
    "examples": Text("for example", "例如"),
    "no_misconceptions": Text("None was recognised.", "没有识别出典型错误。"),
    "stopped": Text("Timeouts and crashes", "超时与崩溃"),
    "no_stopped": Text("None.", "没有。"),
    "what": Text("what happened", "情况"),
    "review": Text("For review", "待复核"),
    "review_about": Text(
        "What deserves a look, and why. A flag is no proof of anything and has changed no mark: learners may work "
        "together, and short code has few forms. All flags: {file}.",
        "值得看一看的地方及依据。标记不能证明任何事，也不影响分数：学员可能一起讨论，短代码本来就没有几种写法。"
        "全部标记见 {file}。",
    ),
    "no_review": Text("Nothing to look at.", "没有需要复核的内容。"),
    "flag": Text("flag", "标记"),
    "who": Text("learners", "学员"),
    "evidence": Text("evidence", "依据"),
    "more_flags": Text("{count} more in {file}.", "其余 {count} 条见 {file}。"),
    "late": Text("Late hand-ins", "迟交的作业"),
    "late_about": Text(
        "They have their points all the same. {mark} stands beside those points in the table of all learners.",
        "分数照给。全部学员的表里，这些分数旁边标有{mark}。",
    ),
    "late_mark": Text("late", "迟"),
    "lesson": Text("lesson", "课程"),
    "when": Text("when", "时间"),
    "more_late": Text("{count} more, see the notes in grades.csv.", "另有 {count} 份，见 grades.csv 的备注。"),
    "files": Text("Files", "文件"),
    "no_files": Text("All files could be read.", "所有文件都能读取。"),
    "file": Text("file", "文件"),
    "reason": Text("reason", "原因"),
    "not_notebook": Text("not a notebook", "不是笔记本文件"),
    "grader_failed": Text("the grader failed; run it again: {reason}", "评分程序出错，请重新运行：{reason}"),
    "more_files": Text("{count} more.", "另有 {count} 个。"),
    "table": Text("All learners", "全部学员"),
    "table_about": Text(
        "A name leads to the learner's feedback. {missing}: not handed in; {unreadable}: could not be read.",
        "点击姓名查看该学员的反馈。{missing}：未提交；{unreadable}：无法读取。",
    ),
    "learner": Text("learner", "学员"),
    "points": Text("points", "得分"),
    "more_learners": Text("{count} more in summary.csv.", "其余 {count} 名学员见 summary.csv。"),
    "filter": Text("find a learner", "查找学员"),
    "sort": Text("sort by this column", "按此列排序"),
    "more_rows": Text("{count} more, less frequent.", "另有 {count} 条，出现较少。"),
}
