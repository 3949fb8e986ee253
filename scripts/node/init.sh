#!/bin/sh
# Process 1 of the node: makes its namespaces ready, says so, and turns into a process that only reaps.
# Arguments: the folder of the node's state, the program to turn into, the cgroup of the node, and folders that must stay
# visible. PATH names the programs.
set -eu
state=$1 pause=$2 cgroup=$3
shift 3

mount --make-rprivate /
# What programs write under these paths whatever they are told, stays in here. Folders of ours that lie below are put back.
mkdir -p "$state/kept"
number=0
for folder in "$@"; do
  number=$((number + 1))
  mkdir -p "$state/kept/$number"
  mount --bind "$folder" "$state/kept/$number"
done
cd /
kept=$state/kept
hold=/mnt
mount -t tmpfs tmpfs $hold
number=0
for folder in "$@"; do
  number=$((number + 1))
  mkdir $hold/$number
  mount --bind "$kept/$number" $hold/$number
done
for path in /run /var/log /var/lib /tmp; do mount -t tmpfs -o mode=1777 tmpfs $path; done
number=0
for folder in "$@"; do
  number=$((number + 1))
  mkdir -p "$folder"
  mount --bind $hold/$number "$folder"
done

# The kubelet wants these settings of the whole machine: it gets files of its own to read, and the machine keeps its own.
mkdir -p /run/kernel
for setting in vm/overcommit_memory=1 vm/panic_on_oom=0 kernel/panic=10 kernel/panic_on_oops=1 \
  kernel/keys/root_maxkeys=1000000 kernel/keys/root_maxbytes=25000000; do
  file=/run/kernel/$(echo "${setting%=*}" | tr / .)
  echo "${setting#*=}" > "$file"
  mount --bind "$file" "/proc/sys/${setting%=*}"
done
[ "$(cat /proc/sys/kernel/panic_on_oops)" = 1 ]
mount --make-rshared /

for controller in /sys/fs/cgroup/*/; do
  mkdir -p "$controller$cgroup"
  # A cpuset begins empty, and takes no process then.
  for file in cpuset.cpus cpuset.mems; do
    [ ! -e "$controller$file" ] || cat "$controller$file" > "$controller$cgroup/$file"
  done
done

# As pods have it: <service>.<namespace>.svc is enough of a name.
printf 'nameserver %s\nsearch %s\noptions ndots:5\n' "$NODE_ADDRESS" "$DNS_DOMAIN" > "$state/resolv.conf"
mount --bind "$state/resolv.conf" /etc/resolv.conf
ip link set lo up
ip link add node0 type dummy 2> /dev/null || ip link add node0 type bridge
ip address add "$NODE_ADDRESS/24" dev node0
ip link set node0 up
# Calls of the node itself to a Service need a route before kube-proxy can turn them. There is no default route.
ip route add "$SERVICE_RANGE" dev node0
echo 1 > /proc/sys/net/ipv4/ip_forward
# Packets between pods on one bridge pass the rules that keep them apart.
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables 2> /dev/null || modprobe br_netfilter 2> /dev/null || true
echo ready > "$state/ready"
exec "$pause"
