import { CLIENT_SECRET_KEY } from '../contracts/managedIdentities.ts'
import { done, type Outcome, stalled } from '../core/outcome.ts'
import { PlatformClient } from '../crds/identity.ts'
import { controller, type Pass, steps } from './engine/controller.ts'

/** Reports whether each service account can get tokens, from what the identity provider found of its Secret. */
export const platformClientController = controller(PlatformClient, {
  observes: [],
  writes: [],
  reconcile: steps(requireSecret),
})

function requireSecret(pass: Pass<typeof PlatformClient>): Outcome {
  const { spec, status, metadata } = pass.object
  const { secretName } = spec
  if (status?.missingSecrets?.includes(secretName) !== true) return done()
  pass.serving(false)
  const message =
    `The Secret "${secretName}" is missing or has no ${CLIENT_SECRET_KEY}, so the account gets no tokens: make it in the ` +
    `namespace ${metadata.namespace}, with a new secret under the key ${CLIENT_SECRET_KEY}. Managed identities get a new one by themselves.`
  return stalled('ReferenceMissing', message)
}
