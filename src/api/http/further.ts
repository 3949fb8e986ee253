/** What handlers ask for besides the action of their routes, for the documents: words that go on after `May also need`. */

/** Of a spec, of code that runs beside it, and of files that such code reads. */
export const REFERENCES =
  'the rights on what the resource refers to: `secretvault/readSecrets` for secrets and outputs that are secret, the read action of what other outputs are of, `managedidentities/readSecrets` for an identity'
/** Of what is built from a deployment source of the boundary. */
export const BUILDING = '`kernel/deployments/token` at the boundary for code from its deployment sources'
/** Of whatever gives a role to somebody. */
export const GRANTING = 'the right to give roles at the scope, and every action of the role there'
