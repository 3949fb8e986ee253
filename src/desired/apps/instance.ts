import { APP_COMPONENT, type PlatformApp } from '../../crds/apps.ts'
import { BackupPolicyField, ComponentField } from '../../crds/containerFields.ts'
import type { ContainerInstance } from '../../crds/containerinstances.ts'
import { withDefaults } from '../../crds/sparse.ts'

/** Replaces the image's command: a shell reads it. */
export const shell = (command: string) => ['/bin/sh', '-c', command]

/** What an app is to run now. */
export type Running = {
  image: string
  /** How many copies: of an app that follows its load, as many as there are. */
  replicas: number
  /** Seconds that a copy has to last before it gets requests. */
  probation: number
}

/** The one component of an app. */
function componentOf({ spec }: Pick<PlatformApp, 'spec'>, { image, replicas, probation }: Running) {
  const { startCommand, env, port, healthPath, volumes } = spec
  const namesPort = env.some(({ name }) => name === 'PORT')
  return withDefaults(ComponentField, {
    name: APP_COMPONENT,
    image,
    replicas,
    command: startCommand === undefined ? [] : shell(startCommand),
    env: namesPort ? env : [{ name: 'PORT', value: String(port) }, ...env],
    ports: [{ name: 'http', port }],
    mounts: volumes.map(({ name, mountPath }) => ({ volume: name, path: mountPath })),
    readinessProbe: {
      ...(healthPath === '' ? { kind: 'Tcp' } : { kind: 'Http', path: healthPath }),
      // Whatever ends before, nobody has called; minReadySeconds would keep the old copies, and send requests to both.
      initialDelaySeconds: probation,
      periodSeconds: 2,
      timeoutSeconds: 3,
    },
  })
}

/** Sites, which are run as apps are, may choose their own host. */
export type HostedApp = PlatformApp & { spec: { ingressHost?: string | undefined } }

/** An app as what runs one component: whatever is done for container instances is done for it in the same way. */
export function appInstance(app: HostedApp, running: Running): ContainerInstance {
  const { spec } = app
  const { clusterId, computePlan, registryCredential, managedIdentity, isPublic, customDomains, allowedCidrs } = spec
  const { backupPolicy, restartedAt, onDelete, tags } = spec
  return {
    ...app,
    spec: {
      ...{ clusterId, computePlan, registryCredential, managedIdentity, isPublic, customDomains, allowedCidrs },
      ...{ restartedAt, onDelete, tags, running: spec.running },
      ...(spec.ingressHost !== undefined && { ingressHost: spec.ingressHost }),
      components: [componentOf(app, running)],
      volumes: spec.volumes.map(({ mountPath: _, ...volume }) => volume),
      ...(backupPolicy !== undefined && { backupPolicy: withDefaults(BackupPolicyField, backupPolicy) }),
      parameters: {},
      redeployedAt: {},
    },
  } as ContainerInstance
}
