/** Permissions that handlers check beside the actions of their routes, worded to follow `May also need`. */

/** For a spec, the code that runs beside it, and the files that such code reads. */
export const REFERENCE_RIGHTS =
  'the rights on what the resource refers to: `secretvault/readSecrets` for secrets and outputs that are secret, the read action of what other outputs are of, `managedidentities/readSecrets` for an identity'
/** For what is built from a deployment source of the boundary. */
export const BUILD_RIGHTS = '`kernel/deployments/token` at the boundary for code from its deployment sources'
/** For whatever gives a role to somebody. */
export const GRANT_RIGHTS = 'the right to give roles at the scope, and every action of the role there'
