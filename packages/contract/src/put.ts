/** Sets a member of an object, where there is a value for it. */
export function put<T, Member extends keyof T>(
  target: T,
  member: Member,
  value: T[Member] | undefined,
): void {
  if (value !== undefined) target[member] = value
}
