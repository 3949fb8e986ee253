import { z } from 'zod'
import {
  EXECUTION_STAGES,
  EXECUTION_STATES,
  EXECUTION_STEP_STATES,
  EXECUTIONS_KEPT,
  shownState,
} from '../../contracts/blueprints/executions.ts'
import { objectId } from '../../core/ids.ts'
import { boundaryIdOf, groupNamespace } from '../../core/names.ts'
import { createdAtOf } from '../../core/object.ts'
import { BLUEPRINT_COLLECTIONS } from '../../crds/blueprintCollections.ts'
import { BlueprintExecution, type ExecutionStep } from '../../crds/blueprints.ts'
import { groupScope } from '../callers/visibility.ts'
import type { Services } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action } from '../http/route.ts'
import { indexedByReference } from '../records/derived.ts'
import type { RecordOf } from '../records/records.ts'
import { collection } from '../resources/collection/collection.ts'
import { inBoundary } from '../resources/collection/parents.ts'
import { DateTime, Uuid, wholeRecord } from '../resources/dto.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'

type ExecutionRecord = RecordOf<typeof BlueprintExecution>

const ExecutionStepDto = namedRecord('ExecutionStepDto', {
  component: z.string(),
  collection: z.string(),
  resourceName: z.string(),
  resourceId: Uuid.nullable().describe('Null until it was made'),
  status: z.enum(EXECUTION_STEP_STATES),
  message: z.string().nullable(),
  startedAt: DateTime.nullable(),
  finishedAt: DateTime.nullable(),
})

const ExecutionOutputDto = namedRecord('ExecutionOutputDto', {
  name: z.string(),
  value: z.string().nullable().describe('Null of a secret, and until it is known'),
  isSecret: z.boolean(),
  reference: z
    .object({ collection: z.string(), name: z.string(), output: z.string() })
    .nullable()
    .describe('What other resources of the group refer to'),
})

export const BlueprintExecutionDto = namedRecord('BlueprintExecutionDto', {
  id: Uuid,
  slug: z.string(),
  blueprintName: z.string(),
  version: z.string(),
  name: z.string(),
  resourceGroup: z.string(),
  clusterId: Uuid,
  status: z.enum(EXECUTION_STATES),
  phase: z.enum(EXECUTION_STAGES),
  message: z.string().nullable(),
  startedBy: z.string(),
  createdAt: DateTime,
  startedAt: DateTime.nullable(),
  finishedAt: DateTime.nullable(),
  retryOf: Uuid.nullable(),
  retriedBy: Uuid.nullable(),
  steps: z.array(ExecutionStepDto),
  outputs: z.array(ExecutionOutputDto),
  parameters: z.record(z.string(), z.string()).describe('Secret ones masked'),
})

const STARTED = new Set<string | undefined>(['Creating', 'Ready', 'Failed'])

function stepDto(execution: ExecutionRecord, step: ExecutionStep): z.output<typeof ExecutionStepDto> {
  const { component, collection: name, resourceName, objectName, isSkipped = false } = step
  const observed = execution.status?.steps?.find((one) => one.component === component)
  const status = observed?.status ?? (isSkipped ? 'Skipped' : 'Pending')
  const boundary = execution.metadata.namespace ?? ''
  const kind = BLUEPRINT_COLLECTIONS.get(name)?.kind
  const group = groupNamespace(boundaryIdOf(execution.metadata), execution.spec.resourceGroup)
  const namespace = kind?.placement === 'group' ? group : boundary
  return wholeRecord(ExecutionStepDto, {
    ...observed,
    ...{ component, collection: name, resourceName, status },
    resourceId:
      kind !== undefined && STARTED.has(status) ? objectId(kind.resource, { namespace, name: objectName }) : null,
  })
}

function outputDto(
  { spec, status }: ExecutionRecord,
  { name, secret = false, component, output }: NonNullable<ExecutionRecord['spec']['outputs']>[number],
): z.output<typeof ExecutionOutputDto> {
  const step = spec.steps.find((one) => one.component === component)
  const reference =
    step === undefined || output === undefined ? null : { collection: step.collection, name: step.resourceName, output }
  const value = secret ? null : (status?.outputs?.find((one) => one.name === name)?.value ?? null)
  return { name, value, isSecret: secret, reference }
}

const retries = indexedByReference(BlueprintExecution, ({ spec }) => spec.retryOf)

/** Returns the execution that retries this one. */
export function retryOf({ records }: Services, { metadata }: ExecutionRecord): ExecutionRecord | undefined {
  const [first] = retries(records, metadata.namespace ?? '', metadata.name)
  return first
}

/** BlueprintExecutionDto (records: blueprints). */
export function executionDto(execution: ExecutionRecord, services: Services): z.output<typeof BlueprintExecutionDto> {
  const { metadata, spec, status = {} } = execution
  return wholeRecord(BlueprintExecutionDto, {
    ...spec,
    ...{ message: status.message, startedAt: status.startedAt, finishedAt: status.finishedAt },
    id: metadata.name,
    ...shownState(status),
    createdAt: createdAtOf(metadata),
    retriedBy: retryOf(services, execution)?.metadata.name,
    steps: spec.steps.map((step) => stepDto(execution, step)),
    outputs: (spec.outputs ?? []).map((output) => outputDto(execution, output)),
  })
}

const READ = 'blueprints/read'

export const DEPLOYS_PATH = '{B}/resources/blueprints/deploys'

export const executions = collection(BlueprintExecution, {
  path: DEPLOYS_PATH,
  item: 'executionId',
  noun: 'Execution',
  parent: inBoundary,
  may: { read: action(READ) },
  // Checks the group, because the route checks the boundary only and a deny may be at the group.
  includes: ({ spec }, { boundaryId }, { services, caller }) =>
    services.access.isAllowed(caller.principalId, READ, groupScope(boundaryId, spec.resourceGroup)),
  dto: BlueprintExecutionDto,
  toDto: (execution, { services }) => executionDto(execution, services),
  columns: {
    status: enumeration('Status', EXECUTION_STATES, { isSorted: false }),
    slug: text('Blueprint', { isSearched: true }),
    name: text('Name', { isSearched: true }),
    createdAt: dateTime('Created', { isFiltered: false }),
  },
  sort: '-createdAt',
  name: 'name',
  limitName: 'take',
  limitMax: EXECUTIONS_KEPT,
  list: {
    summary: 'Deployments, newest first',
    query: z.object({ resourceGroup: z.string().min(1).max(64).optional().describe('Only deploys into this group') }),
    where:
      ({ resourceGroup }) =>
      ({ spec }) =>
        resourceGroup === undefined || spec.resourceGroup === resourceGroup,
  },
  get: { summary: 'Read one deployment' },
})
