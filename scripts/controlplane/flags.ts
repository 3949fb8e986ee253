import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MAX_AUDIT_LOG_BYTES } from '../../src/contracts/auditLog.ts'
import type { Ports } from './ports.ts'

/** Types of simulated operators. */
export const PLAYED = fileURLToPath(new URL('../../deploy/played', import.meta.url))
export const STAGES = fileURLToPath(new URL('../../deploy/stages', import.meta.url))

export const PORT_NAMES = ['apiServer', 'etcd', 'etcdHttp', 'etcdPeer'] as const
export type ControlPlanePorts = Ports<(typeof PORT_NAMES)[number]>

/** Service addresses; the API server takes the first. */
export const SERVICE_RANGE = '10.96.0.0/12'
export const API_SERVICE_ADDRESS = '10.96.0.1'
export const API_SERVER_NAMES = [
  '127.0.0.1',
  'localhost',
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  API_SERVICE_ADDRESS,
]

export type FlagOptions = {
  folder: string
  ports: ControlPlanePorts
  /** False for tests: the store does not wait for the disk, so a power failure loses data. */
  durable: boolean
  /** Whether the audit log is sent anywhere. */
  audit: boolean
  /** The API server's address for pods and nodes; undefined if both are simulated. */
  nodeAddress?: string | undefined
}

/** Paths in a data folder. */
export function layout(folder: string) {
  const pki = join(folder, 'pki')
  const configuration = join(folder, 'configuration')
  return {
    pki,
    certificate: (name: string) => join(pki, `${name}.crt`),
    key: (name: string) => join(pki, `${name}.key`),
    configuration: (name: string) => join(configuration, `${name}.yaml`),
    kubeconfig: (name: string) => join(folder, 'kubeconfigs', name),
    etcdData: join(folder, 'etcd'),
  }
}

const flags = (values: Record<string, string | number | boolean>) =>
  Object.entries(values).map(([name, value]) => `--${name}=${value}`)

/**
 * Only client certificates of etcd's own authority are accepted: whoever reads etcd has the envelope of every Secret.
 */
export function etcdFlags({ folder, ports, durable }: FlagOptions): string[] {
  const paths = layout(folder)
  const [client, peer] = [`https://127.0.0.1:${ports.etcd}`, `https://127.0.0.1:${ports.etcdPeer}`]
  return flags({
    name: 'freehold',
    'data-dir': paths.etcdData,
    'listen-client-urls': client,
    // Metrics and health on a port of their own: sharing one makes calls take a slower path, at a quarter more
    // processor time.
    'listen-client-http-urls': `https://127.0.0.1:${ports.etcdHttp}`,
    'advertise-client-urls': client,
    'listen-peer-urls': peer,
    'initial-advertise-peer-urls': peer,
    'initial-cluster': `freehold=${peer}`,
    'cert-file': paths.certificate('etcd'),
    'key-file': paths.key('etcd'),
    'client-cert-auth': true,
    'trusted-ca-file': paths.certificate('etcd-ca'),
    'peer-cert-file': paths.certificate('etcd'),
    'peer-key-file': paths.key('etcd'),
    'peer-client-cert-auth': true,
    'peer-trusted-ca-file': paths.certificate('etcd-ca'),
    // Old revisions are compacted after 5 minutes; 4 GiB instead of 2 suffice for a busy day.
    'auto-compaction-mode': 'periodic',
    'auto-compaction-retention': '5m',
    'quota-backend-bytes': 4 * 1024 ** 3,
    'log-level': 'warn',
    ...(durable ? {} : { 'unsafe-no-fsync': true }),
  })
}

export function apiServerFlags({ folder, ports, audit, nodeAddress }: FlagOptions): string[] {
  const paths = layout(folder)
  return flags({
    'secure-port': ports.apiServer,
    ...(nodeAddress === undefined
      ? // Loopback is not a valid endpoint address, so nobody may publish one: played pods need none.
        { 'bind-address': '127.0.0.1', 'advertise-address': '127.0.0.1', 'endpoint-reconciler-type': 'none' }
      : {
          'bind-address': '0.0.0.0',
          'advertise-address': nodeAddress,
          'kubelet-preferred-address-types': 'InternalIP',
          'kubelet-certificate-authority': paths.certificate('ca'),
        }),
    'etcd-servers': `https://127.0.0.1:${ports.etcd}`,
    'etcd-cafile': paths.certificate('etcd-ca'),
    'etcd-certfile': paths.certificate('etcd-client'),
    'etcd-keyfile': paths.key('etcd-client'),
    'tls-cert-file': paths.certificate('kube-apiserver'),
    'tls-private-key-file': paths.key('kube-apiserver'),
    'client-ca-file': paths.certificate('ca'),
    'kubelet-client-certificate': paths.certificate('kubelet-client'),
    'kubelet-client-key': paths.key('kubelet-client'),
    'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
    'service-account-signing-key-file': paths.key('service-account'),
    'service-account-key-file': paths.key('service-account'),
    'service-cluster-ip-range': SERVICE_RANGE,
    'authentication-config': paths.configuration('authentication'),
    'authorization-config': paths.configuration('authorization'),
    'encryption-provider-config': paths.configuration('encryption'),
    'admission-control-config-file': paths.configuration('admission'),
    'enable-admission-plugins': 'NodeRestriction',
    'requestheader-client-ca-file': paths.certificate('front-proxy-ca'),
    'requestheader-allowed-names': 'front-proxy-client',
    'requestheader-username-headers': 'X-Remote-User',
    'requestheader-group-headers': 'X-Remote-Group',
    'requestheader-extra-headers-prefix': 'X-Remote-Extra-',
    'proxy-client-cert-file': paths.certificate('front-proxy-client'),
    'proxy-client-key-file': paths.key('front-proxy-client'),
    'enable-aggregator-routing': true,
    'allow-privileged': true,
    profiling: false,
    ...(audit
      ? {
          'audit-policy-file': paths.configuration('audit'),
          'audit-webhook-config-file': paths.kubeconfig('audit-webhook'),
          'audit-webhook-mode': 'batch',
          'audit-webhook-batch-max-wait': '1s',
          'audit-webhook-batch-max-size': 100,
          'audit-webhook-batch-throttle-enable': false,
          // Four more attempts within four minutes, so that no events are lost while a facade restarts, even on a busy
          // machine.
          'audit-webhook-initial-backoff': '30s',
          // At most as much as our webhook accepts at once. Longer events are truncated to who did what, or dropped.
          'audit-webhook-truncate-enabled': true,
          'audit-webhook-truncate-max-batch-size': MAX_AUDIT_LOG_BYTES,
          'audit-webhook-truncate-max-event-size': MAX_AUDIT_LOG_BYTES,
        }
      : {}),
  })
}

/** The usual limits of 20 and 30 requests a second would slow down 1,000 pods to most of a minute. */
const CLIENT_LIMITS = { qps: 500, burst: 1000 }

export function controllerManagerFlags({ folder, nodeAddress }: FlagOptions): string[] {
  const paths = layout(folder)
  return flags({
    kubeconfig: paths.kubeconfig('kube-controller-manager'),
    // It serves nothing, so it needs neither a port nor a certificate.
    'secure-port': 0,
    'leader-elect': false,
    'use-service-account-credentials': true,
    'service-account-private-key-file': paths.key('service-account'),
    'root-ca-file': paths.certificate('ca'),
    'cluster-signing-cert-file': paths.certificate('ca'),
    'cluster-signing-key-file': paths.key('ca'),
    'service-cluster-ip-range': SERVICE_RANGE,
    'enable-hostpath-provisioner': nodeAddress === undefined,
    'kube-api-qps': CLIENT_LIMITS.qps,
    'kube-api-burst': CLIENT_LIMITS.burst,
    'concurrent-statefulset-syncs': 20,
    'concurrent-deployment-syncs': 20,
    'concurrent-replicaset-syncs': 20,
    'concurrent-namespace-syncs': 20,
    'concurrent-gc-syncs': 20,
    profiling: false,
  })
}

export function schedulerFlags({ folder }: FlagOptions): string[] {
  return flags({ config: layout(folder).configuration('scheduler'), 'secure-port': 0 })
}

/** KubeSchedulerConfiguration: client limits have no flag of their own any more. */
export function schedulerConfiguration(kubeconfig: string): object {
  return {
    apiVersion: 'kubescheduler.config.k8s.io/v1',
    kind: 'KubeSchedulerConfiguration',
    clientConnection: { kubeconfig, ...CLIENT_LIMITS },
    leaderElection: { leaderElect: false },
    enableProfiling: false,
  }
}

export function playerFlags({ folder }: FlagOptions): string[] {
  const paths = layout(folder)
  return flags({ kubeconfig: paths.kubeconfig('kwok'), config: paths.configuration('kwok') })
}
