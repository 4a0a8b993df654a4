"""Many settings of one agent on one suite: what each finds of the true neighbours, how long it takes, what it costs in relevance.

A sweep file becomes a grid (`sweep_config`, `grid`), each setting a run that is kept as soon as it is made (`running`,
`folder`), and all runs together one result (`measuring`), which the renderers show.

Private: what is meant for others is a name of `searchmark`.
"""
