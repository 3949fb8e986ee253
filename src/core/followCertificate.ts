import { runPeriodically } from './runPeriodically.ts'

const INTERVAL_MS = 60_000

/**
 * Reads a certificate from its files each minute, because others replace it there, and passes it on if it changed. One
 * that cannot be used, such as without its new key yet, is logged and tried again.
 *
 * @param used the certificate in use
 */
export function followCertificate<Certificate extends object>(
  read: () => Promise<Certificate>,
  used: Certificate,
  use: (certificate: Certificate) => void,
  dependencies: Parameters<typeof runPeriodically>[2],
): { stop(): void } {
  let known = JSON.stringify(used)
  const renew = async () => {
    const found = await read()
    const text = JSON.stringify(found)
    if (text === known) return
    use(found)
    known = text
  }
  return runPeriodically(renew, INTERVAL_MS, dependencies)
}
