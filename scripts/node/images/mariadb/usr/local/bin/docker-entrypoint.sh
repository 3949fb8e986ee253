#!/bin/sh
# What the platform relies on of MariaDB's own image: a new data folder gets a root that may come from everywhere, with
# the password of the environment. For tests.
set -eu
folder=/var/lib/mysql
if [ ! -d "$folder/mysql" ]; then
  mariadb-install-db --no-defaults --datadir="$folder" --skip-test-db --auth-root-authentication-method=normal > /dev/null
  password=$(printf %s "$MARIADB_ROOT_PASSWORD" | sed "s/[\\\\']/\\\\&/g")
  cat > /tmp/first.sql <<SQL
ALTER USER 'root'@'localhost' IDENTIFIED BY '$password';
CREATE USER 'root'@'$MARIADB_ROOT_HOST' IDENTIFIED BY '$password';
GRANT ALL ON *.* TO 'root'@'$MARIADB_ROOT_HOST' WITH GRANT OPTION;
SQL
  set -- --init-file=/tmp/first.sql
fi
exec mariadbd --datadir="$folder" --bind-address=0.0.0.0 "$@"
