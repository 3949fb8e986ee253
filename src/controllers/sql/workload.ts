import { isSqlFault, type SqlFault, type SqlTarget } from '../../adapters/sql/port.ts'
import { ADMIN_USERS, SQL_DIALECTS, SQL_PORTS, SQL_USERS, sqlHost, sqlNames, sqlPod } from '../../contracts/sql.ts'
import { hostInUrl } from '../../core/hostInUrl.ts'
import { sha256 } from '../../core/names.ts'
import { degraded, done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { defaultEdition, PAID_EDITIONS } from '../../crds/sql.ts'
import { sqlAuxiliaryChildren, sqlInput, sqlWorkload } from '../../desired/sql/index.ts'
import { service } from '../../kube/builtin.ts'
import { otherClusterOf } from '../engine/workloadLocation.ts'
import { describeProgress, findPodProblem, isRolledOut } from '../stateful/health.ts'
import { podsLeft, podsOfStateful } from '../stateful/pass.ts'
import { claimsByName } from '../stateful/volumes.ts'
import { writeWorkload } from '../stateful/write.ts'
import { judgeAddress, publicAddresses } from '../workload/addresses.ts'
import { pruneChildren, writeChildren } from '../workload/children.ts'
import { judgeStart, judgeStop, wasComplete } from '../workload/judge.ts'
import { planOf, refOfPass } from '../workload/pass.ts'
import { removeRecordSecret } from '../workload/secrets.ts'
import type { SqlOptions, SqlPass, SqlStep } from './types.ts'

/** Label that the StatefulSet controller sets on each pod: the revision of its template. */
const REVISION_LABEL = 'controller-revision-hash'
/** Milliseconds until an engine that did not answer is retried. */
const ENGINE_RETRY_MS = 5_000
/** Milliseconds until an engine that answered with a refusal is retried. */
const REFUSED_RETRY_MS = 30_000

/** Writes the children, the StatefulSet last, so that the pod finds what it mounts. */
export async function applyWorkload(pass: SqlPass): Promise<Outcome> {
  const { object, incarnation, state } = pass
  const input = sqlInput({
    instance: object,
    plan: planOf(pass),
    incarnation,
    replicas: object.spec.running ? 1 : 0,
    productKeyVersion: state.productKeyVersion,
  })
  const surroundings = sqlAuxiliaryChildren(input)
  await writeChildren(pass, surroundings)
  await pruneChildren(pass, surroundings, [service])
  await writeWorkload(pass, sqlWorkload(input))
  return done()
}

export function reportStatus(pass: SqlPass): Outcome {
  const { object, state } = pass
  const ready = state.workload?.status?.readyReplicas ?? 0
  const addresses = addressesOf(pass)
  const [first] = addresses ?? []
  pass.report({
    readyReplicas: ready,
    externalAddresses: addresses,
    publicEndpoint: first === undefined ? undefined : `${hostInUrl(first)}:${SQL_PORTS[object.spec.engine]}`,
    ...(isRolledOut(state.workload) ? { restartedAt: object.spec.restartedAt } : {}),
  })
  pass.serving(ready > 0)
  return done()
}

/** Identifies the engine's start: it may have found an emptied volume, which cannot be seen from outside. */
function engineStartOf(pass: SqlPass): unknown[] {
  return podsOfStateful(pass).map(({ metadata, status }) => [
    metadata.uid,
    (status?.containerStatuses ?? []).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0),
  ])
}

/**
 * Creates database and logins in a running engine, and reads its version. Once per start, volume, set of logins and
 * product key: the status has a hash of what was prepared.
 */
export function prepareEngine({ engines }: Pick<SqlOptions, 'engines'>): SqlStep {
  return async function prepareEngine(pass: SqlPass): Promise<Outcome> {
    const { object, state } = pass
    const { spec, status } = object
    const { passwords, productKeyVersion } = state
    if (!spec.running || !isRolledOut(state.workload) || passwords === undefined) return done()
    const target = adminTarget(pass, passwords.admin)
    // Hash all passwords together, so that the hash reveals nothing about one of them.
    const volume = claimsByName(pass).get(0)?.metadata.uid
    const server = [spec.databaseName, spec.engineVersion, spec.edition, productKeyVersion, volume, engineStartOf(pass)]
    const wanted = sha256(JSON.stringify([passwords, ...server])).slice(0, 16)
    if (status?.preparedFor === wanted) return done()
    const engine = engines[spec.engine]
    try {
      const logins = {
        reader: { user: SQL_USERS.reader, password: passwords.reader },
        writer: { user: SQL_USERS.writer, password: passwords.writer },
        owner: { user: SQL_USERS.owner, password: passwords.owner },
      }
      const collation = spec.engine === 'MsSql' ? spec.collation : undefined
      await engine.prepare(target, { database: spec.databaseName, collation, logins })
      const { version, edition } = await engine.describe({ ...target, database: '' })
      pass.report({ productVersion: version, licenseEdition: edition ?? undefined })
      state.engine = judgeEdition(pass, edition)
      if (state.engine === undefined) pass.report({ preparedFor: wanted })
      return done()
    } catch (error) {
      if (!isSqlFault(error)) throw error
      state.engine = preparationOutcome(pass, error)
      return done()
    }
  }
}

/** Reports a final refusal as such: an unknown collation, for example, never becomes valid. */
function preparationOutcome({ object }: SqlPass, { reason, details }: SqlFault): Outcome {
  if (reason === 'Failed' || reason === 'InvalidValue') {
    const message = `The engine refused to make the database "${object.spec.databaseName}" and its logins (${details.engineCode}).`
    return stalled('EngineRefused', message, REFUSED_RETRY_MS)
  }
  const problem = reason === 'Unauthorized' ? 'does not accept its administrator' : 'does not answer yet'
  return waiting('WaitingForWorkload', `The engine ${problem}.`, ENGINE_RETRY_MS)
}

/** Checks by the reported edition whether the engine accepted the product key; a rejected key gives way to the last. */
function judgeEdition(pass: SqlPass, reported: string | null): Outcome | undefined {
  const { spec } = pass.object
  const edition = spec.edition ?? defaultEdition(spec.engine)
  const { productKeyVersion } = pass.state
  if (!PAID_EDITIONS.includes(edition) || productKeyVersion === undefined) return undefined
  if (reported === null || reported.startsWith(edition)) {
    const isRejected = pass.object.status?.rejectedLicenseVersion === spec.licenseVersion
    pass.report({ licenseVersion: productKeyVersion, licenseStatus: isRejected ? 'Rejected' : 'Active' })
    return undefined
  }
  // Record the newest version even if the previous key was rejected too; otherwise the two would alternate for ever.
  pass.report({ rejectedLicenseVersion: spec.licenseVersion, licenseStatus: 'Rejected' })
  return stalled('LicenseInvalid', `The product key is for edition "${reported.slice(0, 40)}", not ${edition}.`)
}

function adminTarget(pass: SqlPass, password: string): SqlTarget {
  const { namespace, name } = refOfPass(pass)
  const { engine } = pass.object.spec
  const clusterId = otherClusterOf(pass.object, pass.records)
  return {
    dialect: SQL_DIALECTS[engine],
    host: sqlHost(namespace, name),
    port: SQL_PORTS[engine],
    database: '',
    user: ADMIN_USERS[engine],
    password,
    ...(clusterId !== undefined && { through: { clusterId, namespace, pod: sqlPod(name) } }),
  }
}

/** Deletes the editor's history, which a later instance of this name must not show. */
export const removeHistory = removeRecordSecret((name) => sqlNames(name).history)

export function judgeStopped(pass: SqlPass): Outcome {
  return judgeStop(podsLeft(pass), 'The engine is shutting down.', 'The engine does not run; the data is kept.')
}

export function judgeHealth(pass: SqlPass): Outcome {
  const { state, object } = pass
  if (!object.spec.running) return judgeStopped(pass)
  const address = judgeAddress(pass, addressesOf(pass), 'The engine is ready.')
  return judgePod(pass) ?? state.engine ?? state.volumes ?? state.backup ?? address
}

function judgePod(pass: SqlPass): Outcome | undefined {
  const { workload } = pass.state
  if (isRolledOut(workload)) return undefined
  const problem = findPodProblem(podsOfStateful(pass))
  if (problem !== undefined) return judgeProblem(pass, problem)
  const message = describeProgress(pass, 'The engine is not ready yet.', podsOfStateful(pass), planOf(pass), workload)
  const starting = judgeStart(pass, message)
  if (starting !== undefined) return starting
  return wasComplete(pass, 'BackupFailing') ? degraded('PartiallyAvailable', message) : waiting('RollingOut', message)
}

/**
 * SQL Server does not start with an invalid key. If it ran with the previous key, that one is used again; if it never
 * ran, the key is only named as a possible cause.
 */
function judgeProblem(pass: SqlPass, problem: Outcome): Outcome {
  const { productKeyVersion, workload } = pass.state
  const { spec, status } = pass.object
  const isNew = productKeyVersion !== undefined && productKeyVersion !== status?.licenseVersion
  if (problem.kind !== 'degraded' || problem.reason !== 'CrashLooping' || !isNew) return problem
  // A pod of an earlier template says nothing about a key that it did not get.
  const revision = workload?.status?.updateRevision
  const hasIt = podsOfStateful(pass).every(({ metadata }) => metadata.labels?.[REVISION_LABEL] === revision)
  if (revision === undefined || !hasIt) return problem
  if (status?.licenseVersion === undefined) {
    return degraded('CrashLooping', `${problem.message} The engine never ran with this product key, which may be why.`)
  }
  pass.report({ rejectedLicenseVersion: spec.licenseVersion, licenseStatus: 'Rejected' })
  return waiting('RollingOut', 'The engine does not start with the newest product key; the previous one is used again.')
}

function addressesOf(pass: SqlPass): string[] | undefined {
  return publicAddresses(pass, sqlNames(pass.object.metadata.name).publicService)
}
