"""What a script may ask a Redis server for."""

# Commands that can only fail on a key of another type, or by lack of memory where they are a script's first write.
_BY_TYPE = {
    "hash": "HSET HSETNX HGET HEXISTS HMGET HGETALL HKEYS HVALS HLEN HINCRBY HDEL",
    "zset": "ZADD ZCARD ZCOUNT ZREM ZPOPMIN ZREMRANGEBYSCORE ZRANGE ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYSCORE ZSCORE "
    "ZRANGEBYLEX ZREVRANGEBYLEX",
    "stream": "XADD XDEL XLEN XRANGE XREVRANGE XTRIM",
    "list": "RPUSH LPOP LREM LTRIM LRANGE LLEN",
    # Of any type, or of one that only strings have; XREAD's keys come behind its options.
    "": "DEL UNLINK PEXPIRE PERSIST EXISTS PTTL PUBLISH GET SET GETRANGE STRLEN APPEND TIME XREAD",
}
TYPES = {command: kind for kind, commands in _BY_TYPE.items() for command in commands.split()}
_READ = (
    "EXISTS GET GETRANGE HEXISTS HGET HGETALL HKEYS HLEN HMGET HVALS LLEN LRANGE PTTL STRLEN TIME XLEN XRANGE XREAD "
    "XREVRANGE ZRANGE ZRANGEBYLEX ZRANGEBYSCORE ZREVRANGE ZREVRANGEBYLEX ZREVRANGEBYSCORE ZSCORE"
)
READS = {*_READ.split()}
