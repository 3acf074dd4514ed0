"""Threads of one warp together; the flow must be uniform over the warp."""

from __future__ import annotations

from darter.lang.intrinsic import Intrinsic

shuffle_idx = Intrinsic("shuffle_idx", "dt.shuffle_idx(value, lane)")
shuffle_xor = Intrinsic("shuffle_xor", "dt.shuffle_xor(value, mask)")
shuffle_up = Intrinsic("shuffle_up", "dt.shuffle_up(value, delta)")
shuffle_down = Intrinsic("shuffle_down", "dt.shuffle_down(value, delta)")
vote_any = Intrinsic("vote_any", "dt.vote_any(predicate)")
vote_all = Intrinsic("vote_all", "dt.vote_all(predicate)")
ballot = Intrinsic("ballot", "dt.ballot(predicate): UInt64, one bit per lane")
