import type { SpecOf } from './define.ts'
import type { ComputePlan } from './plans.ts'

type PlanSpec = SpecOf<typeof ComputePlan>

function vectorPlan(
  displayName: string,
  cpu: [string, string],
  memory: [string, string],
  storageSize: string,
  replicas: number,
  description: string,
  isDefault = false,
): PlanSpec {
  return {
    family: 'Vector',
    displayName,
    description,
    cpuRequest: cpu[0],
    cpuLimit: cpu[1],
    memoryRequest: memory[0],
    memoryLimit: memory[1],
    storageSize,
    storageClass: '',
    replicas,
    isDefault,
    deprecated: false,
    extras: {},
  }
}

function relationalPlan(
  displayName: string,
  cpu: [string, string],
  memory: [string, string],
  storageSize: string,
  replicas: number,
  maxConnections: number,
  description: string,
  isDefault = false,
): PlanSpec {
  return {
    ...vectorPlan(displayName, cpu, memory, storageSize, replicas, description, isDefault),
    family: 'Relational',
    extras: { maxConnections: String(maxConnections) },
  }
}

function sqlPlan(
  displayName: string,
  cpu: [string, string],
  memory: string,
  storageSize: string,
  description: string,
  isDefault = false,
): PlanSpec {
  return { ...vectorPlan(displayName, cpu, [memory, memory], storageSize, 1, description, isDefault), family: 'Sql' }
}

function jobPlan(
  displayName: string,
  cpu: [string, string],
  memory: [string, string],
  description: string,
  isDefault = false,
): PlanSpec {
  const { storageSize: _, ...plan } = vectorPlan(displayName, cpu, memory, '', 1, description, isDefault)
  return { ...plan, family: 'Job' }
}

function containerPlan(...given: Parameters<typeof jobPlan>): PlanSpec {
  return { ...jobPlan(...given), family: 'ContainerInstance' }
}

function functionPlan(...given: Parameters<typeof jobPlan>): PlanSpec {
  return { ...jobPlan(...given), family: 'Function', extras: { maxTimeoutSeconds: '900' } }
}

function appPlan(...given: Parameters<typeof jobPlan>): PlanSpec {
  return { ...jobPlan(...given), family: 'App' }
}

/** The offer that a new platform starts with; administrators change it with kubectl. Keys are the plan ids. */
export const DEFAULT_PLANS: Readonly<Record<string, PlanSpec>> = {
  'vector-dev': vectorPlan(
    'Development',
    ['250m', '500m'],
    ['512Mi', '1Gi'],
    '5Gi',
    1,
    'One small peer, to try things out.',
    true,
  ),
  'vector-small': vectorPlan(
    'Small',
    ['500m', '1'],
    ['2Gi', '2Gi'],
    '20Gi',
    1,
    'One peer for up to about a million vectors.',
  ),
  'vector-medium': vectorPlan(
    'Medium',
    ['1', '2'],
    ['4Gi', '4Gi'],
    '50Gi',
    3,
    'Three peers that survive the loss of one.',
  ),
  'vector-large': vectorPlan(
    'Large',
    ['2', '4'],
    ['16Gi', '16Gi'],
    '200Gi',
    3,
    'Three peers for tens of millions of vectors.',
  ),
  'vector-xlarge': vectorPlan(
    'Extra large',
    ['4', '8'],
    ['32Gi', '32Gi'],
    '500Gi',
    3,
    'Three large peers for hundreds of millions of vectors.',
  ),
  'relational-dev': relationalPlan(
    'Development',
    ['250m', '1'],
    ['512Mi', '1Gi'],
    '5Gi',
    1,
    100,
    'One small instance, to try things out.',
    true,
  ),
  'relational-small': relationalPlan(
    'Small',
    ['500m', '2'],
    ['2Gi', '2Gi'],
    '20Gi',
    2,
    200,
    'A primary and a replica that can take its place.',
  ),
  'relational-medium': relationalPlan(
    'Medium',
    ['2', '4'],
    ['8Gi', '8Gi'],
    '100Gi',
    3,
    400,
    'A primary and two replicas.',
  ),
  'relational-large': relationalPlan(
    'Large',
    ['4', '8'],
    ['32Gi', '32Gi'],
    '500Gi',
    3,
    800,
    'A primary and two replicas for large databases.',
  ),
  'sql-dev': sqlPlan('Development', ['500m', '1'], '2Gi', '10Gi', 'A small engine, to try things out.', true),
  'sql-small': sqlPlan('Small', ['1', '2'], '4Gi', '50Gi', 'For a small application.'),
  'sql-medium': sqlPlan('Medium', ['2', '4'], '8Gi', '200Gi', 'For an application with many users.'),
  'sql-large': sqlPlan('Large', ['4', '8'], '32Gi', '500Gi', 'For large databases that are busy all day.'),
  'job-small': jobPlan('Small', ['250m', '1'], ['512Mi', '1Gi'], 'For scripts and reports.', true),
  'job-medium': jobPlan('Medium', ['1', '2'], ['2Gi', '4Gi'], 'For imports and migrations.'),
  'job-large': jobPlan('Large', ['4', '4'], ['8Gi', '16Gi'], 'For heavy computations.'),
  'container-nano': containerPlan('Nano', ['100m', '250m'], ['128Mi', '256Mi'], 'For small helpers and static sites.'),
  'container-small': containerPlan('Small', ['250m', '500m'], ['512Mi', '512Mi'], 'For most web servers.', true),
  'container-medium': containerPlan('Medium', ['500m', '1'], ['1Gi', '1Gi'], 'For busy web servers and workers.'),
  'container-large': containerPlan('Large', ['1', '2'], ['4Gi', '4Gi'], 'For large applications.'),
  'container-xlarge': containerPlan(
    'Extra large',
    ['4', '4'],
    ['16Gi', '16Gi'],
    'For applications that need four whole cores.',
  ),

  'function-small': functionPlan('Small', ['100m', '500m'], ['128Mi', '256Mi'], 'For most functions.', true),
  'function-medium': functionPlan('Medium', ['250m', '1'], ['512Mi', '512Mi'], 'For functions that compute.'),
  'function-large': functionPlan('Large', ['1', '2'], ['2Gi', '2Gi'], 'For functions that need whole cores.'),
  'app-free': appPlan('Free', ['100m', '250m'], ['128Mi', '256Mi'], 'To try things out.'),
  'app-small': appPlan('Small', ['250m', '500m'], ['512Mi', '512Mi'], 'For most apps.', true),
  'app-medium': appPlan('Medium', ['500m', '1'], ['1Gi', '1Gi'], 'For busy apps.'),
  'app-large': appPlan('Large', ['1', '2'], ['2Gi', '2Gi'], 'For large apps.'),
  'app-xlarge': appPlan('Extra large', ['2', '4'], ['8Gi', '8Gi'], 'For apps that need much memory.'),
}
