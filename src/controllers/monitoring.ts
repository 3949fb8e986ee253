import { alertOccurrencesOf, RESOLVED_ALERT_TTL_MS } from '../contracts/monitoring.ts'
import { done, type Outcome } from '../core/outcome.ts'
import { PlatformAlert } from '../crds/monitoring.ts'
import { controller, type Pass, steps } from './engine/controller.ts'

/** Reports when alerts were seen, and deletes alerts resolved long ago. A firing alert costs nothing. */
export const alertController = controller(PlatformAlert, {
  observes: [],
  writes: [{ resource: PlatformAlert.resource, verbs: ['delete'] }],
  reconcile: steps(reportSeen, forgetResolved),
})

type AlertPass = Pass<typeof PlatformAlert>

async function reportSeen(pass: AlertPass): Promise<Outcome> {
  pass.report(alertOccurrencesOf(pass.object, pass.now))
  return done()
}

export async function forgetResolved(pass: AlertPass): Promise<Outcome> {
  const { resolvedAt } = alertOccurrencesOf(pass.object, pass.now)
  if (resolvedAt === undefined) return done()
  const remainingMs = Date.parse(resolvedAt) + RESOLVED_ALERT_TTL_MS - Date.parse(pass.now)
  if (remainingMs > 0) return done({ after: remainingMs })
  const { namespace, name, uid, resourceVersion } = pass.object.metadata
  // With the version, because it may fire again at this moment.
  await pass.records.client.remove(pass.kind.resource, { namespace, name }, { uid, resourceVersion })
  return done()
}
