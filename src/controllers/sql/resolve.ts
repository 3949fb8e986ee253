import { randomBytes } from 'node:crypto'
import {
  decodeProductKey,
  decodeSomePasswords,
  hasAllPasswords,
  memoryObstacle,
  type SqlPasswords,
  sqlNames,
} from '../../contracts/sql.ts'
import { done, type Outcome, stalled } from '../../core/outcome.ts'
import type { SecretObject } from '../../core/secretData.ts'
import { isTimeZone } from '../../crds/schedule.ts'
import { defaultEdition, PAID_EDITIONS } from '../../crds/sql.ts'
import { loginSecret } from '../../desired/sql/index.ts'
import { secret } from '../../kube/builtin.ts'
import { hasStatefulSet } from '../stateful/pass.ts'
import { planOf, refOfPass } from '../workload/pass.ts'
import { adopt, isKeptFor } from '../workload/retainedIncarnations.ts'
import { keepSecret, readSecret, withSecretRights } from '../workload/secrets.ts'
import type { SqlOptions, SqlPass, SqlStep } from './types.ts'

/** Contains all four character classes that SQL Server requires. */
function randomPassword(): string {
  return `${randomBytes(24).toString('base64url')}aA1!`
}

/** The container would take an unknown zone for UTC. Existing instances keep running that way. */
export function checkTimeZone(pass: SqlPass): Outcome {
  const { timeZone } = pass.object.spec
  if (hasStatefulSet(pass) || isTimeZone(timeZone)) return done()
  return stalled('ConfigurationInvalid', `timeZone is "${timeZone}", which is not a time zone that the platform knows.`)
}

/** The kind's own rules do not know the plan. */
export function checkMemory(pass: SqlPass): Outcome {
  const fault = memoryObstacle(pass.object.spec, planOf(pass).memoryLimit)
  return fault === undefined ? done() : stalled('ConfigurationInvalid', `${fault.field} ${fault.message}.`)
}

/** Milliseconds until lost passwords, which somebody must restore, are looked for again. */
const LOST_LOGINS_RETRY_MS = 30_000

/** Creates passwords once, and stores them before they are used. */
export function ensureLogins({ generatePassword = randomPassword }: Pick<SqlOptions, 'generatePassword'>): SqlStep {
  return function ensureLogins(pass: SqlPass): Promise<Outcome> {
    const { logins } = sqlNames(pass.object.metadata.name)
    return withSecretRights(async () => {
      if (await isAdminLost(pass, logins)) return adminLostOutcome(logins)
      const kept = await keepSecret<Partial<SqlPasswords>>(pass, logins, {
        decode: decodeSomePasswords,
        decide: completePasswords,
        build: (passwords) => loginSecret(pass.object, completePasswords(passwords)),
        load: async (_, namespace, name) => adoptRetained(pass, await readSecret(pass, namespace, name)),
      })
      pass.state.passwords = completePasswords(kept)
      return done()
    })
  }

  /** Returns the same object if no password is missing. */
  function completePasswords(stored: Partial<SqlPasswords> = {}): SqlPasswords {
    if (hasAllPasswords(stored)) return stored
    return {
      admin: generatePassword(),
      owner: generatePassword(),
      writer: generatePassword(),
      reader: generatePassword(),
      ...stored,
    }
  }
}

/** An engine sets its administrator's password only once, so a new one could not open the existing volume. */
async function isAdminLost(pass: SqlPass, logins: string): Promise<boolean> {
  if (pass.state.claims.size === 0) return false
  const { namespace } = refOfPass(pass)
  const held = await pass.children.get<SecretObject>(secret, namespace, logins)
  if (hasAllPasswords(decodeSomePasswords(held?.data))) return false
  const stored = await readSecret(pass, namespace, logins)
  return decodeSomePasswords(stored?.data).admin === undefined
}

function adminLostOutcome(logins: string): Outcome {
  const message = `The passwords of the engine are gone, and its volume accepts no others. Restore the Secret "${logins}" of this namespace from a backup.`
  return stalled('ReferenceMissing', message, LOST_LOGINS_RETRY_MS)
}

/** Takes over passwords retained with the volume of a deleted instance of this name: its engine accepts no others. */
async function adoptRetained(pass: SqlPass, found: SecretObject | undefined): Promise<SecretObject | undefined> {
  return found !== undefined && isKeptFor(pass, found) ? adopt(pass, secret, found) : found
}

/** Chooses the product key: the newest, or the last working one if the engine rejected that. */
export async function chooseLicense(pass: SqlPass): Promise<Outcome> {
  const { spec, status } = pass.object
  const edition = spec.edition ?? defaultEdition(spec.engine)
  if (!PAID_EDITIONS.includes(edition)) {
    pass.report({ licenseStatus: 'NotRequired' })
    return done()
  }
  const isRejected = status?.rejectedLicenseVersion === spec.licenseVersion
  const version = isRejected ? (status?.licenseVersion ?? 0) : spec.licenseVersion
  if (version === 0 || !(await isLicenseStored(pass, version))) {
    pass.report({ licenseStatus: isRejected ? 'Rejected' : 'Missing' })
    const reason = isRejected ? 'the engine did not accept the product key' : 'no product key is set'
    return stalled('LicenseInvalid', `Edition ${edition} needs a product key, and ${reason}.`)
  }
  pass.state.productKeyVersion = version
  const works = status?.licenseVersion === version
  pass.report({ licenseStatus: isRejected ? 'Rejected' : works ? 'Active' : 'Applying' })
  return done()
}

/** A key that worked before is not read again, so that an instance at rest costs no request. */
async function isLicenseStored(pass: SqlPass, version: number): Promise<boolean> {
  if (pass.object.status?.licenseVersion === version) return true
  const { namespace, name } = refOfPass(pass)
  return decodeProductKey((await readSecret(pass, namespace, sqlNames(name).license))?.data, version) !== undefined
}
