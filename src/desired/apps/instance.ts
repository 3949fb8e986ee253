import { APP_COMPONENT, type PlatformApp } from '../../crds/apps.ts'
import { BackupPolicyField, ComponentField } from '../../crds/containerFields.ts'
import type { ContainerInstance } from '../../crds/containerinstances.ts'
import { withDefaults } from '../../crds/schemaDefaults.ts'

/** Returns a container command that runs through a shell, replacing the image's own command. */
export const shell = (command: string) => ['/bin/sh', '-c', command]

/** What an app runs now. */
export type AppRuntimeState = {
  image: string
  /** Replicas; with autoscaling, the current number. */
  replicas: number
  /** Seconds a copy must survive before it receives requests. */
  probation: number
}

/** The single component of an app. */
function componentOf({ spec }: Pick<PlatformApp, 'spec'>, { image, replicas, probation }: AppRuntimeState) {
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
      // A copy that ends during this delay never got requests; minReadySeconds would send them to old and new copies.
      initialDelaySeconds: probation,
      periodSeconds: 2,
      timeoutSeconds: 3,
    },
  })
}

/** Sites run as apps do, but may choose their own host. */
export type HostedApp = PlatformApp & { spec: { ingressHost?: string | undefined } }

/** Presents an app as a container instance with one component, so that both share the same code. */
export function appInstance(app: HostedApp, running: AppRuntimeState): ContainerInstance {
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
