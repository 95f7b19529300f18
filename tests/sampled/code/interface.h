/* The structures of the IEEE/CIGRE interface (CIGRE Technical Brochure 958, API 2), as far as tests need them. */
#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED
#endif

enum Kind { WHOLE = 6, SINGLE = 8, REAL = 9, TEXT = 10 };

typedef struct {
    const char *name, *text, *unit;
    enum Kind kind;
    int width;
} Signal;

typedef union {
    char *text;
    int whole;
    float single;
    double real;
} Value;

typedef union {
    int whole;
    float single;
    double real;
} Bound;

typedef struct {
    const char *name, *group, *text, *unit;
    enum Kind kind;
    int fixed;
    Value value;
    Bound lower, upper;
} Parameter;

typedef struct {
    unsigned char api[4];
    const char *name, *version, *text, *general, *created, *creator, *changed, *changed_by, *comment, *history;
    double period;
    unsigned char mode;
    int input_count;
    const Signal *inputs;
    int output_count;
    const Signal *outputs;
    int parameter_count;
    const Parameter *parameters;
    int ints, floats, doubles;
} Info;

typedef struct {
    void *inputs, *outputs, *parameters;
    double time;
    unsigned char mode;
    const char *error, *message;
    int *ints;
    float *floats;
    double *doubles;
} Instance;
