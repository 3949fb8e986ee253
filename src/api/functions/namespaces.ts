import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { FUNCTION_RUNTIME_NAMES, FUNCTION_RUNTIMES, newestRuntimeVersion } from '../../contracts/functions.ts'
import { refusedFields } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import { hostFields, refuseOwnDomain } from '../resources/hosts.ts'
import { enumeration, flag, number } from '../resources/paging.ts'
import { recordOf } from '../resources/record.ts'
import { refuseMissingReferences, requireReferenceRights } from '../resources/references.ts'
import { planInView, unprocessable } from '../resources/sizing.ts'
import type { WriteView } from '../resources/types.ts'
import { listReadableSecrets, secretsForNewVariables } from './namespaceSecrets.ts'

type Draft = Partial<FunctionNamespace['spec']>
type Environment = FunctionNamespace['spec']['env']
type Write = WriteView<typeof FunctionNamespace>

/** FunctionNamespaceDto (records: functions). */
export const namespaceRecord = recordOf(FunctionNamespace, {
  hidden: ['running', 'restartedAt', 'functionSecrets'],
  computed: {
    functionCount: [z.int(), ({ object }) => object.status?.functionCount ?? 0],
    readyFunctionCount: [z.int(), ({ object }) => object.status?.readyFunctionCount ?? 0],
    ...hostFields,
  },
  items: { env: {} },
  filled: {
    computePlan: planInView,
    runtimeVersion: ({ object: { spec } }) => spec.runtimeVersion ?? newestRuntimeVersion(spec.runtime),
  },
  refine: (draft, view) => {
    const runtimeVersion = chosenVersion(draft, view)
    const [given, before] = [contentOf(draft), contentOf(view.previous?.spec ?? {})]
    const { env, managedIdentity } = given
    if (!isDeepStrictEqual(given, before)) requireReferenceRights({ components: [{ env }], managedIdentity }, view)
    refuseMissingReferences({ env }, before.env, view)
    refuseOwnDomain(draft, view)
    return { runtimeVersion, functionSecrets: grantedSecrets(env, view) }
  },
})

/** Fields that affect what functions are given. Variables can make a runtime load other code. */
const contentOf = ({ env = [], managedIdentity = false }: Draft) => ({ env, managedIdentity })

/**
 * Returns the secrets that the variables may be combined with. The set never grows, unless there were no variables
 * before.
 * @throws PlatformError FORBIDDEN if the variables change and the caller may not read secrets of the functions
 */
function grantedSecrets(env: Environment, view: Write): string[] {
  const { env: previousEnv = [], functionSecrets = [] } = view.previous?.spec ?? {}
  if (isDeepStrictEqual(env, previousEnv)) return functionSecrets
  if (env.length === 0) return []
  const { services, boundaryId, resourceGroup, name } = view
  const functions = services.records
    .peekAll(ServerlessFunction, { namespace: groupNamespace(boundaryId, resourceGroup) })
    .flatMap(({ spec }) => (spec.namespaceName === name ? [spec] : []))
  requireReferenceRights({ components: functions }, view)
  const target = { ...view, namespaceName: name }
  return previousEnv.length === 0
    ? secretsForNewVariables(functions, target)
    : listReadableSecrets(functionSecrets, target)
}

/** The newest version is stored as absent. @throws PlatformError RUNTIME_ENDED, BAD_REQUEST */
function chosenVersion({ runtime, runtimeVersion }: Draft, { previous }: Write): string | undefined {
  if (runtime === undefined || runtimeVersion === undefined) return undefined
  const before = previous?.spec.runtimeVersion
  if (before === undefined && runtimeVersion === newestRuntimeVersion(runtime)) return undefined
  if (runtimeVersion === before) return runtimeVersion
  const { offered, ended } = FUNCTION_RUNTIMES[runtime]
  if (offered.includes(runtimeVersion)) return runtimeVersion
  const runtimeName = `${runtime} ${runtimeVersion}`
  const choice = `choose one of ${offered.join(', ')}`
  if (ended.includes(runtimeVersion))
    throw unprocessable(
      'RUNTIME_ENDED',
      'runtimeVersion',
      runtimeVersion,
      `${runtimeName} is no longer maintained: ${choice}.`,
    )
  throw refusedFields([
    { field: 'runtimeVersion', message: `is not a version of ${runtime} that the platform offers: ${choice}` },
  ])
}

export const namespaceFields = {
  runtime: enumeration('Runtime', FUNCTION_RUNTIME_NAMES),
  isPublic: flag('Public'),
  functionCount: number<{ object: { status?: { functionCount: number } | undefined } }>('Functions', {
    of: ({ object }) => object.status?.functionCount ?? 0,
    isFiltered: false,
  }),
} as const
