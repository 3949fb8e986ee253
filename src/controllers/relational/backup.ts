import { randomBytes } from 'node:crypto'
import { archiveServerName, relationalNames, relationalUsers } from '../../contracts/relational.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { type SecretObject, secretText } from '../../core/secretData.ts'
import { RelationalSnapshot } from '../../crds/relationalSnapshots.ts'
import {
  destinationPath,
  LOGINS,
  type Login,
  loginSecret,
  storeRetention,
  TARGET_KEYS,
  targetSecret,
} from '../../desired/relational/index.ts'
import { secret } from '../../kube/builtin.ts'
import { barmanObjectStore } from '../../kube/postgresql.ts'
import { related } from '../engine/lookups.ts'
import { otherClusterOf } from '../engine/workloadLocation.ts'
import { refOfPass } from '../workload/pass.ts'
import { keepSecret, readSecret, withSecretRights } from '../workload/secrets.ts'
import {
  INSTALL_PLUGIN,
  observedEngine,
  type RelationalOptions,
  type RelationalPass,
  type RelationalState,
  type RelationalStep,
} from './types.ts'
import { isNameTaken } from './workload.ts'

/** The Secret with the backup target's credentials, in the platform's namespace. */
export const BACKUP_SECRET = 'freehold-backup-target'

/** Decides whether the database is backed up, and where to. */
export function resolveBackup({ backupTarget: target }: Pick<RelationalOptions, 'backupTarget'>): RelationalStep {
  return function resolveBackup(pass: RelationalPass): Outcome {
    const { object, state, workloads, records } = pass
    const { namespace, name } = refOfPass(pass)
    const isWanted = object.spec.backupEnabled ?? target !== undefined
    pass.report({ backupEnabled: isWanted && target !== undefined })
    if (isWanted && target === undefined) {
      const message = 'backupEnabled is set, but this platform has no backup target; an administrator configures one.'
      return stalled('ConfigurationInvalid', message)
    }
    const reads = object.spec.restoreFrom !== undefined
    if ((isWanted || reads) && !workloads.isServed(barmanObjectStore)) return stalled('EngineMissing', INSTALL_PLUGIN)
    if (!isWanted || target === undefined) return done()
    const snapshots = related(records.cache(RelationalSnapshot), 'parent', namespace, name)
    state.backup = {
      target,
      destinationPath: destinationPath(target, namespace),
      serverName: archiveServerName(relationalNames(name).cluster, pass.incarnation),
      retentionDays: storeRetention(
        object.spec.backupRetentionDays,
        snapshots.map(({ spec }) => spec),
      ),
    }
    pass.report({ destinationPath: state.backup.destinationPath, serverName: state.backup.serverName })
    return done()
  }
}

/** Milliseconds until the administrator's Secret is looked for again: the operator may read it but not watch it. */
const TARGET_RETRY_MS = 30_000

/** Writes the Secrets before the Cluster, so that no instance refers to a missing password or store. */
export function ensureSecrets(options: RelationalOptions): RelationalStep {
  return function ensureSecrets(pass: RelationalPass): Promise<Outcome> {
    return withSecretRights(async () => {
      await ensureLogins(pass, options)
      return await ensureTarget(pass, options)
    })
  }
}

const randomPassword = () => randomBytes(24).toString('base64url')

/** Creates passwords once. The engine sets them for owner and editor, in a restored database too. */
async function ensureLogins(
  pass: RelationalPass,
  { generatePassword = randomPassword }: RelationalOptions,
): Promise<void> {
  const { object, state } = pass
  const { name } = object.metadata
  const origin = state.origin ?? object.status?.origin
  const users = relationalUsers(origin?.ownerName ?? object.spec.ownerName)
  const keep = (login: Login) =>
    keepSecret(pass, relationalNames(name)[login], {
      decode: passwordOf,
      decide: async (stored) =>
        stored ?? (login === 'owner' ? await inheritedPassword(pass) : undefined) ?? generatePassword(),
      build: (password) => loginSecret(object, login, { username: users[login], password }),
    })
  for (const login of LOGINS) {
    const password = await keep(login)
    if (login === 'owner') state.owner = { username: users.owner, password }
  }
}

/** Re-creates deleted Secrets in every pass: deleting one is how a leaked password is replaced. */
export function restoreLoginSecrets(options: RelationalOptions): RelationalStep {
  return function restoreLoginSecrets(pass: RelationalPass): Outcome | Promise<Outcome> {
    const { spec, status } = pass.object
    const isOwnerKnown = spec.restoreFrom === undefined || status?.origin !== undefined
    if (observedEngine(pass) === undefined || !isOwnerKnown) return done()
    return withSecretRights(async () => {
      await ensureLogins(pass, options)
      return done()
    })
  }
}

/** Returns the password of the database taken over, for its clients; not after that: then it was deleted as leaked. */
async function inheritedPassword(pass: RelationalPass): Promise<string | undefined> {
  const { spec, status } = pass.object
  const { takesOver } = spec
  if (takesOver === undefined || status?.tookOverAt !== undefined || isNameTaken(pass)) return undefined
  return passwordOf((await readSecret(pass, refOfPass(pass).namespace, relationalNames(takesOver).owner))?.data)
}

export function passwordOf(data: SecretObject['data']): string | undefined {
  return secretText(data, 'password') || undefined
}

/**
 * Updates the target's credentials in every pass, because an engine without them cannot archive, and its WAL would fill
 * the volume.
 */
export function refreshTargetCredentials({
  backupTarget: target,
}: Pick<RelationalOptions, 'backupTarget'>): RelationalStep {
  return function refreshTargetCredentials(pass: RelationalPass): Promise<Outcome> {
    return withSecretRights(async () => {
      const { namespace, name } = refOfPass(pass)
      const held = await pass.children.get(secret, namespace, relationalNames(name).target)
      const credentials = target === undefined || held === undefined ? undefined : await targetCredentials(pass)
      if (target === undefined || credentials === undefined) return done()
      await pass.children.ensure(targetSecret(pass.object, target, credentials), { resource: secret })
      return done()
    })
  }
}

async function ensureTarget(pass: RelationalPass, { backupTarget: target }: RelationalOptions): Promise<Outcome> {
  const { namespace, name } = refOfPass(pass)
  if (target === undefined || (pass.state.backup === undefined && pass.state.origin === undefined)) {
    await pass.children.remove(secret, namespace, relationalNames(name).target)
    return done()
  }
  const credentials = await targetCredentials(pass)
  if (credentials === undefined) {
    const message = `Secret "${BACKUP_SECRET}" with ${TARGET_KEYS.id} and ${TARGET_KEYS.secret} is not in ${SYSTEM_NAMESPACE}.`
    return waiting('WaitingForDependency', message, TARGET_RETRY_MS)
  }
  await pass.children.ensure(targetSecret(pass.object, target, credentials), { resource: secret })
  return done()
}

/**
 * Reads the administrator's Secret, once per pass, on the platform's own cluster, wherever the database is. A cluster
 * run by somebody else can have its own, less powerful key, because its operator can read what its databases are given.
 */
async function targetCredentials({ object, records, state }: RelationalPass): Promise<RelationalState['credentials']> {
  if (state.credentials !== undefined) return state.credentials
  const data = (await readSecret({ workloads: records }, SYSTEM_NAMESPACE, BACKUP_SECRET))?.data
  const suffix = `.${otherClusterOf(object, records)}`
  // Even a partial key counts as its own: such a cluster must never get the general key.
  const hasOwn = Object.keys(data ?? {}).some((name) => name.endsWith(suffix))
  state.credentials = keyIn(data, hasOwn ? suffix : '')
  return state.credentials
}

function keyIn(data: SecretObject['data'], suffix: string): RelationalState['credentials'] {
  const [id, secret] = [data?.[TARGET_KEYS.id + suffix], data?.[TARGET_KEYS.secret + suffix]]
  return id === undefined || secret === undefined ? undefined : { [TARGET_KEYS.id]: id, [TARGET_KEYS.secret]: secret }
}
