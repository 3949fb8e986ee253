import { DNS_DOMAIN, NODE_ADDRESS, PAUSE_IMAGE, POD_RANGE } from './addresses.ts'

/** Paths of a node. `state` contains what `down` discards: images, containers, logs of pods. */
export type NodeFolders = {
  readonly state: string
  readonly pki: string
  /** Programs from Debian's packages that this machine lacks, as a root file system. */
  readonly packages: string
}

/** KubeletConfiguration. The kubelet must not change anything machine-wide. */
export function kubeletConfiguration({ state, pki }: NodeFolders, cgroup: string): object {
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    address: NODE_ADDRESS,
    port: 10250,
    healthzBindAddress: '127.0.0.1',
    tlsCertFile: `${pki}/kubelet.crt`,
    tlsPrivateKeyFile: `${pki}/kubelet.key`,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: `${pki}/ca.crt` },
    },
    authorization: { mode: 'Webhook' },
    containerRuntimeEndpoint: 'unix:///run/containerd/containerd.sock',
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    failCgroupV1: false,
    failSwapOn: false,
    // The kubelet then refuses to start if kernel settings differ, instead of writing them; the node shows it the
    // wanted values.
    protectKernelDefaults: true,
    featureGates: { KubeletInUserNamespace: true },
    clusterDNS: [NODE_ADDRESS],
    clusterDomain: DNS_DOMAIN,
    resolvConf: `${state}/resolv.conf`,
    podLogsDir: `${state}/pod-logs`,
    volumePluginDir: `${state}/volume-plugins`,
    // No garbage collection on a short-lived node, and a full disk of the machine evicts nobody.
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    evictionHard: Object.fromEntries(
      [['memory.available', '100Mi'], ...['nodefs', 'imagefs'].map((disk) => [`${disk}.available`, '1%'])].concat([
        ['nodefs.inodesFree', '1%'],
      ]),
    ),
    shutdownGracePeriod: '0s',
    maxPods: 250,
    // A crashing pod restarts soon: this node is for people who watch.
    serializeImagePulls: false,
  }
}

export function proxyConfiguration(kubeconfig: string): object {
  return {
    apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
    kind: 'KubeProxyConfiguration',
    clientConnection: { kubeconfig },
    mode: 'nftables',
    clusterCIDR: POD_RANGE,
    bindAddress: NODE_ADDRESS,
    healthzBindAddress: '127.0.0.1:10256',
    metricsBindAddress: '127.0.0.1:10249',
    // Zero leaves the machine's settings unchanged.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: '0s', tcpCloseWaitTimeout: '0s' },
  }
}

/** A container network on one bridge; without masquerading, because nothing outside is reachable. */
export function podNetwork({ state }: NodeFolders): object {
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'pods0',
        isGateway: true,
        ipMasq: false,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          dataDir: `${state}/cni/addresses`,
          ranges: [[{ subnet: POD_RANGE }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  }
}

/** TOML, in the second form of containerd's configuration, which 1.6 and 2 both read. */
export function containerdConfiguration({ state, packages }: NodeFolders, runc: string): string {
  const plugins = ['devmapper', 'zfs', 'btrfs', 'aufs'].map((name) => `io.containerd.snapshotter.v1.${name}`)
  const disabled = [...plugins, 'io.containerd.internal.v1.opt', 'io.containerd.tracing.processor.v1.otlp']
  return `version = 2
root = "${state}/containerd"
state = "/run/containerd"
disabled_plugins = ${JSON.stringify(disabled)}
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  # Without it no container starts where the machine gives away no better score than its own.
  restrict_oom_score_adj = true
  disable_hugetlb_controller = true
  disable_apparmor = true
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "${state}/registries"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "${runc}"
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "${packages}/usr/lib/cni"
    conf_dir = "${state}/cni/net.d"
`
}

/**
 * How containerd reaches the node's registry: without TLS. No other registry is reachable, so it stands for all of
 * them:
 * `docker.io/library/mariadb:11` is looked up as `library/mariadb:11`.
 */
export function registryHosts(registry: string): string {
  return `server = "http://${registry}"\n[host."http://${registry}"]\n  capabilities = ["pull", "resolve"]\n`
}

/** @param isReadOnly with write access, a client could choose what all pods of the node run */
export function registryConfiguration(
  { state }: Pick<NodeFolders, 'state'>,
  address: string,
  { isReadOnly }: { isReadOnly: boolean },
): object {
  return {
    version: 0.1,
    log: { level: 'warn', accesslog: { disabled: true } },
    storage: {
      filesystem: { rootdirectory: `${state}/registry` },
      delete: { enabled: true },
      maintenance: { readonly: { enabled: isReadOnly }, uploadpurging: { enabled: false } },
    },
    http: { addr: address },
  }
}

/** Resolves names of Services and pods, for pods and our own processes; nothing else can be resolved here. */
export function dnsConfiguration(kubeconfig: string): string {
  return `.:53 {
  errors
  ready ${NODE_ADDRESS}:8181
  kubernetes ${DNS_DOMAIN} in-addr.arpa {
    kubeconfig ${kubeconfig}
    pods insecure
    ttl 5
  }
  cache 5
}
`
}
