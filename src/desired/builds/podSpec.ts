import { BUILD_MOUNT_PATHS, BUILD_SECRET_KEYS } from '../../contracts/builds/pod.ts'
import type { BuildContainer } from '../../contracts/builds/progress.ts'
import type { BuildSettings } from '../../contracts/builds/request.ts'
import { capRequestAtLimit, EPHEMERAL_STORAGE } from '../../core/sizing/disk.ts'

/** The user of the builder image, to whom /etc/subuid gives subordinate users. */
const BUILDER_UID = 1_000
const AGENT_PATH = '/app/src/adapters/builds/agent/main.ts'

type Entry = (typeof BUILD_SECRET_KEYS)[keyof typeof BUILD_SECRET_KEYS]
const { order, gitCredentials, privateKey, knownHosts, pull, push, environment } = BUILD_SECRET_KEYS
/** The entries of the Secret that each container can read. */
const VISIBLE_ENTRIES: Readonly<Record<BuildContainer, readonly Entry[]>> = {
  source: [order, gitCredentials, privateKey, knownHosts, pull],
  build: [order, environment, pull],
  push: [order, push],
}

/**
 * Returns the pod of a build. Rootless BuildKit needs three things that Pod Security level `restricted` forbids, and
 * only its container has them: a user namespace with a range of users, set up by two programs with the capabilities
 * SETUID and SETGID; privilege escalation to gain those; and the system calls unshare and mount, which the default
 * seccomp profile denies. BuildKit cannot create a PID namespace per command (the pod's /proc is masked), so commands
 * see each other and BuildKit, but nothing of the other containers.
 */
export function podSpec(name: string, settings: BuildSettings): object {
  const { nodeSelector, runtimeClassName, diskLimit } = settings
  const containers = {
    source: container('source', settings, { limits: { cpu: settings.cpuLimit, memory: '512Mi' } }),
    build: container('build', settings, {
      limits: { cpu: settings.cpuLimit, memory: settings.memoryLimit },
      security: {
        allowPrivilegeEscalation: true,
        seccompProfile: { type: 'Unconfined' },
        appArmorProfile: { type: 'Unconfined' },
        capabilities: { drop: ['ALL'], add: ['SETUID', 'SETGID'] },
      },
      mounts: [{ name: 'state', mountPath: BUILD_MOUNT_PATHS.state }],
    }),
    push: container('push', settings, { limits: { cpu: settings.cpuLimit, memory: '512Mi' } }),
  }
  return {
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: 5,
    ...(nodeSelector !== undefined && { nodeSelector }),
    ...(runtimeClassName !== undefined && { runtimeClassName }),
    securityContext: {
      runAsNonRoot: true,
      runAsUser: BUILDER_UID,
      runAsGroup: BUILDER_UID,
      fsGroup: BUILDER_UID,
      seccompProfile: { type: 'RuntimeDefault' },
    },
    initContainers: [containers.source, containers.build],
    containers: [containers.push],
    volumes: [
      { name: 'work', emptyDir: { sizeLimit: diskLimit } },
      { name: 'state', emptyDir: { sizeLimit: diskLimit } },
      ...Object.entries(VISIBLE_ENTRIES).flatMap(([part, keys]) => [
        { name: `temporary-${part}`, emptyDir: { sizeLimit: diskLimit } },
        {
          name: `secrets-${part}`,
          // Entries that this build does not have are skipped.
          projected: {
            sources: keys.map((key) => ({ secret: { name, items: [{ key, path: key }], optional: key !== order } })),
          },
        },
      ]),
    ],
  }
}

type Part = { limits: { cpu: string; memory: string }; security?: object; mounts?: readonly object[] }

/** Each container gets the whole disk limit: they run one after the other, so it also bounds the pod. */
function container(part: BuildContainer, settings: BuildSettings, { limits, security, mounts = [] }: Part): object {
  const { image, diskLimit, diskRequest } = settings
  const disk = capRequestAtLimit({ limit: diskLimit, request: diskRequest })
  return {
    name: part,
    image,
    command: ['node', AGENT_PATH, part],
    resources: {
      requests: { cpu: '100m', memory: '128Mi', [EPHEMERAL_STORAGE]: disk.request },
      limits: { ...limits, [EPHEMERAL_STORAGE]: disk.limit },
    },
    terminationMessagePolicy: 'File',
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ['ALL'] },
      ...security,
    },
    volumeMounts: [
      { name: 'work', mountPath: BUILD_MOUNT_PATHS.work },
      { name: `temporary-${part}`, mountPath: '/tmp' },
      { name: `secrets-${part}`, mountPath: BUILD_MOUNT_PATHS.secrets, readOnly: true },
      ...mounts,
    ],
  }
}
