import { z } from 'zod'
import { compareQuantities, isQuantity } from '../core/quantity.ts'
import { DISK_SHARE } from '../core/sizing/disk.ts'

const Bytes = (least: string) =>
  z
    .string()
    .max(32)
    .refine(
      (text) => isQuantity(text) && compareQuantities(text, least) >= 0,
      `expected a quantity of bytes of at least ${least}, such as 4Gi`,
    )

/** Limits for pods of tenants beside those of their plans. */
export const podSettings = {
  podDiskLimit: Bytes('64Mi')
    .default(DISK_SHARE.limit)
    .describe(
      'What each container of a tenant may write to the disk of its node: logs, emptyDir volumes and beside volumes. A pod that writes more is evicted. Pods have the setting of when they were made',
    ),
  podDiskRequest: Bytes('0')
    .default(DISK_SHARE.request)
    .describe(
      'What of that is reserved: on a node whose disk fills up, pods that wrote more are evicted first. 0 where nodes do not tell their disk (localStorageCapacityIsolation of the kubelet is off), which take no pod otherwise',
    ),
}
