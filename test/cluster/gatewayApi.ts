import { spawnSync } from 'node:child_process'

/** Why the Gateway API cannot be had here, in words for the reader of a test result; undefined if it can. */
export function gatewayApiIsMissing(): string | undefined {
  return spawnSync('go', ['version']).status === 0 ? undefined : 'Go is not installed, which gets the Gateway API'
}
