import { DISK_SHARE } from '../core/sizing/disk.ts'
import { Bytes } from './fields.ts'

/** Limits for pods of tenants beside those of their plans. */
export const podSettings = {
  podDiskLimit: Bytes('64Mi')
    .default(DISK_SHARE.limit)
    .describe(
      'Maximum that each container of a tenant may write to the disk of its node: logs, emptyDir volumes and files outside volumes. A pod that writes more is evicted. Applies to new pods',
    ),
  podDiskRequest: Bytes('0')
    .default(DISK_SHARE.request)
    .describe(
      'Part of podDiskLimit that is reserved: if the disk of a node fills up, pods that wrote more are evicted first. Must be 0 if kubelets do not measure their disk (localStorageCapacityIsolation is off); otherwise pods cannot be scheduled',
    ),
}
