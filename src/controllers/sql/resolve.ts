import { randomBytes } from 'node:crypto'
import { decodePasswords, decodeProductKey, sqlNames } from '../../contracts/sql.ts'
import { OWNER_INCARNATION_ANNOTATION, RETAINED_FOR_ANNOTATION } from '../../core/labels.ts'
import { type KubeObject, refOf } from '../../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { choosePlan } from '../../core/sizing/plans.ts'
import { ComputePlan } from '../../crds/plans.ts'
import { defaultEdition, PAID_EDITIONS, type SqlInstance } from '../../crds/sql.ts'
import { loginSecret } from '../../desired/sql/index.ts'
import { secret, statefulSet } from '../../kube/builtin.ts'
import { isKubeError } from '../../kube/errors.ts'
import type { Step } from '../engine/controller.ts'
import { findHome } from '../placement.ts'
import { checkQuotaOf } from '../quota.ts'
import { placeOfStateful, workloadOf } from '../stateful/pass.ts'
import { retainedFor } from '../stateful/volumes.ts'
import type { SqlOptions, SqlPass, SqlState } from './types.ts'

type SecretObject = KubeObject & { data?: Record<string, string> }

/** Long enough, with the four kinds of characters that SQL Server asks for. */
export function randomPassword(): string {
  return `${randomBytes(24).toString('base64url')}aA1!`
}

/** Milliseconds until the rights on Secrets of a new namespace are looked at again; no watch tells of them. */
const RIGHTS_RETRY = 2_000

export function resolvePlan({ object, records, state }: SqlPass): Outcome {
  const { home, obstacle } = findHome(records, object.spec.clusterId)
  if (home === undefined) return obstacle
  if (object.spec.backupEnabled)
    return stalled('ConfigurationInvalid', 'backupEnabled is true, but this platform has no target for backups.')
  const plans = records.cache<ComputePlan & { [key: string]: unknown }>(ComputePlan.resource).list()
  const choice = choosePlan('Sql', object.spec, plans)
  if (choice.kind === 'refused') return stalled(choice.reason, choice.message)
  if (choice.plan.storageSize === undefined)
    return stalled('ConfigurationInvalid', `Compute plan "${choice.name}" names no storage; set storageSize.`)
  state.plan = choice.plan
  return done()
}

export function checkQuota(pass: SqlPass): Outcome {
  const { namespace } = placeOfStateful(pass)
  const exists = pass.workloads.cache(statefulSet).get(namespace, workloadOf(pass)) !== undefined
  return checkQuotaOf(pass, exists && !pass.object.spec.running)
}

/** Passwords are made once, and stored before anything is told of them. */
export function ensureLogins({
  generatePassword,
}: Pick<SqlOptions, 'generatePassword'>): Step<typeof SqlInstance, SqlState> {
  return async function ensureLogins(pass: SqlPass): Promise<Outcome> {
    const { namespace, name } = placeOfStateful(pass)
    try {
      const { logins } = sqlNames(name)
      const cached = decodePasswords((await pass.children.get<SecretObject>(secret, namespace, logins))?.data)
      // Passwords that are written over are lost, so what is stored is read afresh before it is replaced.
      const passwords = cached ??
        decodePasswords((await takeBack(pass, await fresh(pass, logins)))?.data) ?? {
          admin: generatePassword(),
          owner: generatePassword(),
          writer: generatePassword(),
          reader: generatePassword(),
        }
      await pass.children.ensure(loginSecret({ instance: pass.object }, passwords), { resource: secret })
      pass.state.passwords = passwords
      return done()
    } catch (error) {
      if (!isKubeError(error, 'Forbidden')) throw error
      return waiting('WaitingForGroup', 'The rights on Secrets of this namespace are not there yet.', RIGHTS_RETRY)
    }
  }
}

/** Passwords that were kept with the volume of a former instance of this name: its engine accepts no others. */
async function takeBack(pass: SqlPass, found: SecretObject | undefined): Promise<SecretObject | undefined> {
  if (found?.metadata.annotations?.[RETAINED_FOR_ANNOTATION] !== retainedFor(pass)) return found
  const { uid, resourceVersion } = found.metadata
  const annotations = { [OWNER_INCARNATION_ANNOTATION]: pass.incarnation, [RETAINED_FOR_ANNOTATION]: null }
  const patch = { metadata: { annotations } }
  return pass.workloads.client.mergePatch<SecretObject>(secret, refOf(found), patch, { uid, resourceVersion })
}

async function fresh(pass: SqlPass, name: string): Promise<SecretObject | undefined> {
  try {
    return await pass.workloads.client.get<SecretObject>(secret, { ...placeOfStateful(pass), name })
  } catch (error) {
    if (isKubeError(error, 'NotFound')) return undefined
    throw error
  }
}

/** Which product key the engine is started with: the newest, unless the engine refused it; then the one that worked. */
export async function chooseLicense(pass: SqlPass): Promise<Outcome> {
  const { spec, status } = pass.object
  const edition = spec.edition ?? defaultEdition(spec.engine)
  if (!PAID_EDITIONS.includes(edition)) {
    pass.report({ licenseStatus: 'NotRequired' })
    return done()
  }
  const isRejected = status?.rejectedLicenseVersion === spec.licenseVersion
  const version = isRejected ? (status?.licenseVersion ?? 0) : spec.licenseVersion
  if (version === 0 || !(await isStored(pass, version))) {
    pass.report({ licenseStatus: isRejected ? 'Rejected' : 'Missing' })
    const why = isRejected ? 'the engine did not take the product key' : 'no product key is set'
    return stalled('LicenseInvalid', `Edition ${edition} runs with a product key only, and ${why}.`)
  }
  pass.state.productKeyVersion = version
  const works = status?.licenseVersion === version
  pass.report({ licenseStatus: isRejected ? 'Rejected' : works ? 'Active' : 'Applying' })
  return done()
}

/** What worked before is not read again: a pass over an instance at rest costs no request. */
async function isStored(pass: SqlPass, version: number): Promise<boolean> {
  if (pass.object.status?.licenseVersion === version) return true
  const { license } = sqlNames(pass.object.metadata.name)
  return decodeProductKey((await fresh(pass, license))?.data, version) !== undefined
}
