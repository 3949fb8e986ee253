import { spawnSync } from 'node:child_process'

/** Why the Gateway API is unavailable here, for the reader of a test result; undefined if it is available. */
export function gatewayApiIsMissing(): string | undefined {
  return spawnSync('go', ['version']).status === 0 ? undefined : 'Go is not installed, which gets the Gateway API'
}
