#!/bin/sh
# Two ranks in two network namespaces, joined by a link whose rate is limited on both ends.
#
#   benches/ranks/network.sh PROGRAM RATE [ARGUMENTS]
#
# PROGRAM is `target/release/examples/products` (cargo build --release -p coarsen-mpi --example products), or
# `coarsen-mpi`; RATE is in the words of tc, such as 1gbit. Needs root, iproute2 and Open MPI, and says so otherwise.
# Traffic stays on this machine, and the namespaces are removed at the end.
set -u

skip() {
    echo "skipped: $1"
    exit 0
}

[ $# -ge 2 ] || { echo "usage: $0 PROGRAM RATE [ARGUMENTS]"; exit 2; }
program=$(realpath "$1") rate=$2
shift 2
[ -x "$program" ] || { echo "$program is no program; build it first"; exit 2; }
[ "$(id -u)" = 0 ] || skip "namespaces need root"
for tool in ip tc mpirun unshare; do
    command -v $tool >/dev/null || skip "$tool is not installed"
done

one=coarsen-one-$$ two=coarsen-two-$$
folder=$(mktemp -d)
clean() {
    ip netns del $one 2>/dev/null
    ip netns del $two 2>/dev/null
    rm -rf "$folder"
}
trap clean EXIT INT TERM
ip netns add $one 2>/dev/null && ip netns add $two 2>/dev/null || skip "this kernel or container permits no network namespaces"
ip -n $one link add to-two type veth peer name to-one netns $two || skip "no virtual links (veth)"
ip -n $one addr add 10.77.0.1/24 dev to-two
ip -n $two addr add 10.77.0.2/24 dev to-one
for end in "$one to-two" "$two to-one"; do
    name=${end% *} link=${end#* }
    ip -n $name link set lo up
    ip -n $name link set $link up
    # bbr, where a system has it as its default, paces short bursts below the rate.
    ip netns exec $name sysctl -qw net.ipv4.tcp_congestion_control=reno 2>/dev/null ||
        echo "reno is not available: the congestion control stays as it is"
    tc -n $name qdisc add dev $link root tbf rate "$rate" burst 256kb latency 100ms 2>/dev/null ||
        skip "tc cannot limit a rate here (no tbf)"
done

# mpirun starts its daemon on the second host through this program, in place of ssh.
cat >"$folder/agent" <<AGENT
#!/bin/sh
shift
exec ip netns exec $two unshare --uts sh -c "hostname $two; \$*"
AGENT
chmod +x "$folder/agent"
# By default a message of more than 64 KiB asks its receiver first, and the answer waits in the socket behind the data that flow
# the other way, so that the two directions take turns. Messages of up to 8 MiB go at once here, into buffers of their size.
tcp="--mca btl_tcp_eager_limit 8388608 --mca btl_tcp_rndv_eager_limit 8388608 --mca btl_tcp_max_send_size 8388608"
tcp="$tcp --mca btl_tcp_sndbuf 8388608 --mca btl_tcp_rcvbuf 8388608"
echo "two ranks at $rate"
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ip netns exec $one mpirun -n 2 \
    --host 10.77.0.1:1,10.77.0.2:1 --mca plm_rsh_agent "$folder/agent" \
    --mca btl tcp,self --mca btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 $tcp \
    "$program" "$@"
