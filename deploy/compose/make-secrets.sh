#!/bin/sh
# Makes the secrets of compose.yaml: `sh make-secrets.sh [FOLDER]`, by default `secrets` beside this file. Needs openssl.
# Never replaces a folder, because its authority has signed the certificates in use.
set -eu

folder=${1:-$(dirname "$0")/secrets}
# Other users of this machine cannot enter the folder. The files can be read by the users of the containers.
mkdir -m 700 "$folder"
cd "$folder"

new_key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
# shellcheck disable=SC2086  # the words of new_key
openssl req -x509 $new_key -days 3650 -subj /CN=holdfast-authority -keyout authority.key -out authority.pem 2> log

# certificate NAME: for the service NAME, reached from containers and from this machine, for a year
certificate() {
  # shellcheck disable=SC2086
  openssl req $new_key -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2> log
  echo "subjectAltName=DNS:$1,DNS:localhost,IP:127.0.0.1
extendedKeyUsage=serverAuth,clientAuth" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA authority.pem -CAkey authority.key -CAcreateserial \
    -days 365 -extfile "$1.ext" -out "$1.pem" 2> log
  rm "$1.csr" "$1.ext"
}
certificate server
certificate redis

# The token of a first client.
openssl rand -hex 32 | tr -d '\n' > token
echo "first-client sha256:$(openssl dgst -sha256 -r < token | cut -d' ' -f1)" > tokens

# The rights are those of docs/operations/deploy.md.
password=$(openssl rand -hex 32)
{
  echo 'user default off'
  echo "user holdfast reset on #$(printf %s "$password" | openssl dgst -sha256 -r | cut -d' ' -f1)" \
    '~holdfast:* &holdfast:*' \
    '+ping +time +info +config|get +script|load +eval +evalsha +eval_ro +wait' \
    '+function|load +fcall +function|list +function|delete' \
    '+ssubscribe +spublish' \
    '+get +set +strlen +exists +del +unlink +persist +pexpire +pexpireat +memory|usage' \
    '+hget +hmget +hgetall +hkeys +hexists +hstrlen +hset +hsetnx +hincrby +hdel' \
    '+lindex +llen +lpos +lrange +lpush +rpush +lset +lrem +ltrim +lpop +rpop' \
    '+zcard +zcount +zscore +zrank +zrange +zrangebyscore +zrevrangebyscore +zrangebylex' \
    '+zrandmember +zadd +zrem +zremrangebyscore +zremrangebyrank'
} > redis-users
echo "HOLDFAST_REDIS_URL=rediss://holdfast:$password@redis:6379" > server.env

rm log
chmod 600 authority.key token server.env
chmod 644 server.key redis.key tokens redis-users
echo "made $(pwd)"
