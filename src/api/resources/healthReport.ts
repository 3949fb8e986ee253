import type { z } from 'zod'
import type { HealthCheckDto, HealthReportDto } from './dto.ts'

export type Check = Omit<HealthCheckDto, 'observedAt'>

export const check = (
  name: string,
  status: Check['status'],
  message: string | null = null,
  durationMs: number | null = null,
): Check => ({ name, status, message, durationMs })

/** The report is as bad as its worst check, with the message of the first such one; Unknown only if all checks are. */
export function healthReport(checkedAt: string, checks: readonly Check[]): z.output<typeof HealthReportDto> {
  const isAny = (state: Check['status']) => checks.some((one) => one.status === state)
  const status = (['Unhealthy', 'Degraded', 'Healthy'] as const).find(isAny) ?? ('Unknown' as const)
  const decisive = checks.find((one) => one.status === status && one.message !== null)
  return {
    status,
    checkedAt,
    message: status === 'Healthy' ? null : (decisive?.message ?? null),
    checks: checks.map((one) => ({ ...one, observedAt: checkedAt })),
  }
}
