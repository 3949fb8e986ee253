import { z } from 'zod'
import { Bytes, Cores, DateTime, integerBetween, matching, Off, On, Uuid } from './fields.ts'

/**
 * Fields that kinds which run something share, with type, bounds, default and description. A kind with a narrower
 * meaning overrides the description.
 */

export const ClusterId = Uuid.optional().describe(
  "Id of the PlatformCluster that it runs on; immutable. When absent, REST takes the boundary's default cluster, and Kubernetes the platform's own",
)

/** For kinds that run on the platform's own cluster only. */
export const OwnClusterId = ClusterId.describe(
  "Id of the platform's own PlatformCluster, the only one that it can be on; may be absent; immutable",
)

const LABEL = '[a-z0-9]([a-z0-9-]*[a-z0-9])?'
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`
const CLASS_MESSAGE = 'must be the name of a StorageClass: lower-case letters, digits, hyphens and dots'
export const StorageClassName = matching(253, new RegExp(`^${SUBDOMAIN}$`), CLASS_MESSAGE)
/** For a plan, where empty means the default class of the cluster. */
export const PlanStorageClass = matching(253, new RegExp(`^(${SUBDOMAIN})?$`), CLASS_MESSAGE)

/** In a status: the plan that was accepted, which stays in force if it is no longer offered. */
export const AcceptedPlan = z.string().describe('Compute plan that determines its sizes')

/** Fields that a compute plan sets and that a spec may override one by one. */
export const planOverrides = {
  cpuRequest: Cores.optional().describe("CPU request of each replica, in cores, such as 500m; the plan's when absent"),
  cpuLimit: Cores.optional().describe(
    "CPU limit of each replica, in cores, such as 2; not below the request; the plan's when absent",
  ),
  memoryRequest: Bytes.optional().describe("Memory request of each replica, such as 512Mi; the plan's when absent"),
  memoryLimit: Bytes.optional().describe(
    "Memory limit of each replica, such as 1Gi; not below the request; the plan's when absent",
  ),
  storageSize: Bytes.optional().describe(
    "Size of each replica's volume, such as 20Gi; may grow, not shrink; the plan's when absent",
  ),
  storageClass: StorageClassName.optional().describe(
    "StorageClass of the volumes; when absent the plan's, else the cluster's default; immutable",
  ),
}

/** The image of the engine, if the platform lets a resource choose it. */
export const OwnImage = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[a-z0-9][a-zA-Z0-9._:/@-]*$/, 'must be a container image reference')
  .optional()
  .describe('Image to run instead of that of the version, if the platform allows it; immutable')

export const EnableLoadBalancer = Off.describe(
  'True creates a Service of type LoadBalancer for clients outside the cluster',
)

/** One text, as the interface defines it; the rule of each kind checks the networks in it. */
export const AllowedCidrs = z
  .string()
  .max(2400)
  .optional()
  .describe(
    'Networks that may use the load balancer, in CIDR notation, at most 50 with commas between; all when absent',
  )

export const DeletionProtection = Off.describe(
  'While true, its deletion is refused, and through REST that of its resource group as well',
)

export const BackupRetentionDays = integerBetween(1, 365)
  .default(14)
  .describe('Minimum days for which base backups and the log are kept; longer while a snapshot needs them')

export const Running = On.describe('False stops it and keeps the data; true starts it again')

export const RestartedAt = DateTime.optional().describe('A later time restarts each replica once, one after the other')

/** Whether the data that a resource stores is deleted with it. */
export const OnDelete = z.enum(['Delete', 'Retain']).default('Delete')

/** Observed, in a status. */
export const WantedReplicas = z.int().default(0).describe('Desired replicas, whether or not they run')

export const ReadyReplicas = z.int().default(0).describe('Replicas that are ready to serve')

export const PodSelector = z
  .string()
  .describe('Label selector of the pods, for autoscalers that use the scale subresource')

export const ExternalAddresses = z
  .array(z.string())
  .describe('IP addresses or host names of the load balancer; absent while it has none')

export const LastRestartedAt = DateTime.describe('The spec.restartedAt that all replicas were restarted for')

export const LastVolumeBackup = z
  .object({
    name: z.string().describe('Name of the Backup in the namespace of Velero'),
    phase: z.string().describe('Phase in which it ended, as Velero reports it'),
    startedAt: DateTime.describe('When it began'),
    completedAt: DateTime.optional().describe('When it ended; absent if Velero does not say'),
  })
  .describe('The newest backup that has ended; absent if none is wanted, and before the first one')
