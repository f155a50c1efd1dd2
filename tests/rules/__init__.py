"""The rules that may never break (DESIGN.md, section 3), each attacked with the means at hand.

 1. An acknowledged write is there       test_acknowledged: SIGKILL of writers and of the Redis server
 2. One commit per handoff               test_commits: calls fail in turn, memory runs out, SQLite is interrupted;
                                         test_one_commit: a worker ends a delivery by one command
 3. One owner                            test_owners: workers that die, stall and wake; conformance/test_fencing
 4. Nothing is lost                      test_owners: after all that every job ends; conformance/test_model
 5. A finished step is not run again     tests/kills and tests/workers, with real frameworks and processes
 6. The same intent once                 test_intents: many at once; conformance/test_submit and test_endings
 7. Checkpoints are immutable, verified  test_corruption: every byte of what is kept
 8. No code runs on load                 test_loading: random bytes
 9. Keys can't be confused               conformance/test_names; tests/test_lua_headers
10. All stores mean the same             conformance, test_model first of all
"""
