import { selectBackedUpVolumes } from '../../contracts/backups.ts'
import { COMPONENT_LABEL } from '../../contracts/containerinstances.ts'
import type { BackupPolicySpec } from '../../crds/containerFields.ts'
import type { ContainerInstance } from '../../crds/containerinstances.ts'
import { duration, type VolumeBackups } from '../workload/volumeBackups.ts'
import { instanceShared, VOLUME_LABEL } from './index.ts'

/** What the policy of an instance means for Velero. */
export function instanceBackups(
  instance: ContainerInstance,
  policy: BackupPolicySpec,
): Pick<VolumeBackups, 'shared' | 'claims' | 'hooks'> {
  const shared = instanceShared(instance)
  const volumes = selectBackedUpVolumes(instance.spec.volumes, policy)
  return {
    shared,
    claims: volumes.map(({ name }) => ({ ...shared.selector, [VOLUME_LABEL]: name })),
    hooks: policy.hooks.map(({ component, when, command, timeoutSeconds, onError }, at) => {
      const exec = { container: component, command, onError, timeout: duration(timeoutSeconds) }
      return {
        name: `${at}-${component}`,
        includedNamespaces: [shared.namespace],
        includedResources: ['pods'],
        labelSelector: { matchLabels: { ...shared.selector, [COMPONENT_LABEL]: component } },
        [when === 'Before' ? 'pre' : 'post']: [{ exec }],
      }
    }),
  }
}
