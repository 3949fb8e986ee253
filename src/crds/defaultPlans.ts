import type { SpecOf } from './define.ts'
import type { ComputePlan } from './plans.ts'

type PlanSpec = SpecOf<typeof ComputePlan>
type Plans = Readonly<Record<string, PlanSpec>>

/** @param cpu and `memory`: request and limit of a replica, as `1-2`; a single size if both are the same */
function plan(name: string, cpu: string, memory: string, description: string, isDefault = false): PlanSpec {
  const [[cpuRequest = '', cpuLimit = cpuRequest], [memoryRequest = '', memoryLimit = memoryRequest]] = [
    cpu.split('-'),
    memory.split('-'),
  ]
  return {
    family: 'Job',
    displayName: name,
    description,
    ...{ cpuRequest, cpuLimit, memoryRequest, memoryLimit, storageClass: '', replicas: 1 },
    isDefault,
    deprecated: false,
    extras: {},
  }
}

/** A plan with storage. */
function storagePlan(
  storageSize: string,
  replicas: number,
  ...[name, cpu, memory, description, isDefault]: Parameters<typeof plan>
): PlanSpec {
  return { ...plan(name, cpu, memory, description, isDefault), storageSize, replicas }
}

function withConnections(maxConnections: number, given: PlanSpec): PlanSpec {
  return { ...given, extras: { maxConnections: String(maxConnections) } }
}

const family = (prefix: string, name: PlanSpec['family'], plans: Plans, extras: PlanSpec['extras'] = {}): Plans =>
  Object.fromEntries(
    Object.entries(plans).map(([id, spec]) => [
      `${prefix}-${id}`,
      { ...spec, family: name, extras: { ...spec.extras, ...extras } },
    ]),
  )

/** The plans that a new platform offers; administrators change them with kubectl. Keys are the plan ids. */
export const DEFAULT_PLANS: Plans = {
  ...family('vector', 'Vector', {
    dev: storagePlan('5Gi', 1, 'Development', '250m-500m', '512Mi-1Gi', 'One small peer, to try things out.', true),
    small: storagePlan('20Gi', 1, 'Small', '500m-1', '2Gi', 'One peer for up to about a million vectors.'),
    medium: storagePlan('50Gi', 3, 'Medium', '1-2', '4Gi', 'Three peers that survive the loss of one.'),
    large: storagePlan('200Gi', 3, 'Large', '2-4', '16Gi', 'Three peers for tens of millions of vectors.'),
    xlarge: storagePlan(
      '500Gi',
      3,
      'Extra large',
      '4-8',
      '32Gi',
      'Three large peers for hundreds of millions of vectors.',
    ),
  }),
  ...family('relational', 'Relational', {
    dev: withConnections(
      100,
      storagePlan('5Gi', 1, 'Development', '250m-1', '512Mi-1Gi', 'One small instance, to try things out.', true),
    ),
    small: withConnections(
      200,
      storagePlan('20Gi', 2, 'Small', '500m-2', '2Gi', 'A primary and a replica that can take its place.'),
    ),
    medium: withConnections(400, storagePlan('100Gi', 3, 'Medium', '2-4', '8Gi', 'A primary and two replicas.')),
    large: withConnections(
      800,
      storagePlan('500Gi', 3, 'Large', '4-8', '32Gi', 'A primary and two replicas for large databases.'),
    ),
  }),
  ...family('sql', 'Sql', {
    dev: storagePlan('10Gi', 1, 'Development', '500m-1', '2Gi', 'A small engine, to try things out.', true),
    small: storagePlan('50Gi', 1, 'Small', '1-2', '4Gi', 'For a small application.'),
    medium: storagePlan('200Gi', 1, 'Medium', '2-4', '8Gi', 'For an application with many users.'),
    large: storagePlan('500Gi', 1, 'Large', '4-8', '32Gi', 'For large databases that are busy all day.'),
  }),
  ...family('job', 'Job', {
    small: plan('Small', '250m-1', '512Mi-1Gi', 'For scripts and reports.', true),
    medium: plan('Medium', '1-2', '2Gi-4Gi', 'For imports and migrations.'),
    large: plan('Large', '4', '8Gi-16Gi', 'For heavy computations.'),
  }),
  ...family('container', 'ContainerInstance', {
    nano: plan('Nano', '100m-250m', '128Mi-256Mi', 'For small helpers and static sites.'),
    small: plan('Small', '250m-500m', '512Mi', 'For most web servers.', true),
    medium: plan('Medium', '500m-1', '1Gi', 'For busy web servers and workers.'),
    large: plan('Large', '1-2', '4Gi', 'For large applications.'),
    xlarge: plan('Extra large', '4', '16Gi', 'For applications that need four whole cores.'),
  }),
  ...family(
    'function',
    'Function',
    {
      small: plan('Small', '100m-500m', '128Mi-256Mi', 'For most functions.', true),
      medium: plan('Medium', '250m-1', '512Mi', 'For functions that compute.'),
      large: plan('Large', '1-2', '2Gi', 'For functions that need whole cores.'),
    },
    { maxTimeoutSeconds: '900' },
  ),
  ...family('app', 'App', {
    free: plan('Free', '100m-250m', '128Mi-256Mi', 'To try things out.'),
    small: plan('Small', '250m-500m', '512Mi', 'For most apps.', true),
    medium: plan('Medium', '500m-1', '1Gi', 'For busy apps.'),
    large: plan('Large', '1-2', '2Gi', 'For large apps.'),
    xlarge: plan('Extra large', '2-4', '8Gi', 'For apps that need much memory.'),
  }),
}
